import { count } from '../model/format';

// One line of text that may be cut off; the title contains the whole text.
export const Clipped = ({ text, kind = '', title = text }: { text: string | undefined; kind?: string; title?: string }) => (
  <bdi class={kind} title={title}>
    {text}
  </bdi>
);

// The name of a barrier, and how many times it was used before.
export const BarrierName = ({ id, counter }: { id: string; counter: number }) => (
  <bdi class="mono" title={id}>
    {id}
    {counter > 0 && <span class="soft"> #{counter}</span>}
  </bdi>
);

// The last entry of a shortened list of names: a button that shows the remaining names.
export const More = ({ n, show }: { n: number; show(): void }) =>
  n > 0 ? (
    <li class="rest">
      <button type="button" class="plain" onClick={show}>
        and {count(n)} more
      </button>
    </li>
  ) : null;
