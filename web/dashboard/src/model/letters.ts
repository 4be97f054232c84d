// Texts that are cut to what there is room for on a canvas; elsewhere the browser does it.

const letters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

// So many letters at most, as people count them: a family of emoji is one, and is never cut apart.
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const parts = Array.from(letters.segment(text.slice(0, 40 * most)), ({ segment }) => segment);
  return parts.length <= most ? text : `${parts.slice(0, Math.max(1, most - 1)).join('')}…`;
}
