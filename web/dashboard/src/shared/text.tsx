import { count } from './model/format';

// Shortens the text visually; the title contains the complete text.
export const Clipped = ({ text, kind = '', title = text }: { text: string | undefined; kind?: string; title?: string }) => (
  <bdi class={kind} title={title}>
    {text}
  </bdi>
);

// `counter` is the number of times that the barrier was used before.
export const BarrierName = ({ id, counter }: { id: string; counter: number }) => (
  <bdi class="mono" title={id}>
    {id}
    {counter > 0 && <span class="soft"> #{counter}</span>}
  </bdi>
);

export const More = ({ n, show }: { n: number; show(): void }) =>
  n > 0 ? (
    <li class="rest">
      <button type="button" class="plain" onClick={show}>
        and {count(n)} more
      </button>
    </li>
  ) : null;
