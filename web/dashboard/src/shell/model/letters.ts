// Shortens texts on canvases. Elsewhere, the browser shortens texts.

const letters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

// Returns at most `most` visible characters, and never splits a combined emoji.
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const parts = Array.from(letters.segment(text.slice(0, 40 * most)), ({ segment }) => segment);
  return parts.length <= most ? text : `${parts.slice(0, Math.max(1, most - 1)).join('')}…`;
}
