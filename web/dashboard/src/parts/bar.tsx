// A bar of parts. The numbers stand beside it as text, so it is hidden from screen readers.

export interface Part {
  kind: string; // class of the part, and through it its colour
  n: number;
}

export function Bar({ parts, total }: { parts: Part[]; total: number }) {
  const seen = parts.filter((part) => part.n > 0);
  return (
    <div class="bar" aria-hidden="true">
      {seen.map((part) => (
        // A few among millions would be thinner than a pixel: what is there shows at least a sliver (min-width in the CSS).
        <i key={part.kind} class={`part-${part.kind}`} style={{ flexBasis: `${(100 * part.n) / Math.max(1, total)}%` }} />
      ))}
    </div>
  );
}
