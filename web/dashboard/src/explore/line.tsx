import { pieces } from './model/log-search';

export function Line({ text, wanted, exact }: { text: string; wanted: string; exact: boolean }) {
  return (
    <bdi class="log-text">
      {pieces(text, wanted, exact).map((piece, n) =>
        piece.marked ? (
          <mark key={n}>
            <bdi>{piece.text}</bdi>
          </mark>
        ) : (
          <bdi key={n}>{piece.text}</bdi>
        ),
      )}
    </bdi>
  );
}
