import type { ComponentChildren } from 'preact';
import { heading } from '../shell/heading';
import { unturned } from './model/bidi';
import { page } from './route';

interface Props {
  id: string;
  title: string;
  note?: ComponentChildren;
  aside?: ComponentChildren; // content on the right
  span: 4 | 8 | 12; // number of columns, of twelve
  children: ComponentChildren;
}

export function Panel({ id, title, note, aside, span, children }: Props) {
  // Hides a title that repeats the header; it still labels the list.
  const shown = unturned(title);
  const twice = shown === page.value.title || (heading.value !== '' && shown === heading.value);
  return (
    <section class={`panel span-${span}`} id={id} aria-labelledby={`${id}-title`}>
      <header class="panel-head">
        <h2 id={`${id}-title`} class={twice ? 'unseen' : ''}>
          {shown}
        </h2>
        {note && <span class="note">{typeof note === 'string' ? unturned(note) : note}</span>}
        {aside && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}
