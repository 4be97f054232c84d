// The frame that the pages of jobs, sessions and programs share: the headline, facts and actions, then the content, and beside it the
// inspector of the selected call or rank.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useNarrow } from '../shared/narrow';
import { Panel } from '../shared/panel';

interface HeadProps {
  id: string; // ID of the panel
  title: string;
  chip: ComponentChildren;
  headline: string;
  bad?: boolean;
  cause?: ComponentChildren; // what the headline does not say
  actions: ComponentChildren;
  facts: ComponentChildren;
  data: Record<`data-${string}`, string>;
}

export function RunHead({ id, title, chip, headline, bad, cause, actions, facts, data }: HeadProps) {
  return (
    <Panel id={id} title={title} note={chip} span={12} aside={<div class="actions">{actions}</div>}>
      <div {...data}>
        <p class={`run-headline wrap${bad ? ' text-error' : ''}`} data-testid="run-headline">
          <bdi>{headline}</bdi>
        </p>
        {cause}
        <dl class="facts-line">{facts}</dl>
      </div>
    </Panel>
  );
}

// `chosen` is the inspector, or null if nothing is selected.
export function RunFrame({ head, chosen, children }: { head: ComponentChildren; chosen: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class={chosen ? 'run-page is-inspected' : 'run-page'}>
      <div class="panels">{head}</div>
      <div class="run-body">
        <div class="panels run-main">{children}</div>
        {chosen}
      </div>
    </div>
  );
}

interface InspectorProps {
  of: string; // ID of the call, or number of the rank
  title: string;
  chip?: ComponentChildren;
  page?: ComponentChildren; // link to the page of the call
  close(): void;
  move(by: number): void; // selects the next or previous call or rank
  children: ComponentChildren;
}

export function Inspector({ of, title, chip, page, close, move, children }: InspectorProps) {
  const box = useRef<HTMLElement>(null);
  const narrow = useNarrow();
  // A sheet covers the list, so it gets the focus. Beside the list, the focus stays in the list and arrow keys go on.
  useEffect(() => {
    if (narrow) box.current?.querySelector<HTMLElement>('[data-testid="inspector-close"]')?.focus();
  }, [narrow]);
  useEffect(() => {
    box.current?.scrollTo(0, 0);
  }, [of]);
  const onKey = (event: KeyboardEvent) => {
    const typing = (event.target as Element).closest('input, textarea, pre, [role="log"], [role="region"]');
    const by = typing ? 0 : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') close();
    else if (by) move(by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <aside ref={box} class={narrow ? 'inspector is-sheet' : 'inspector'} aria-label={`Selected: ${title}`} tabIndex={0} data-testid="inspector" data-of={of} onKeyDown={onKey}>
      <header class="inspector-head">
        <h2>
          <bdi>{title}</bdi>
        </h2>
        {chip}
        <span class="inspector-actions">
          {page}
          <button type="button" aria-label="Previous" title="Previous (arrow up)" data-testid="inspector-previous" onClick={() => move(-1)}>
            ↑
          </button>
          <button type="button" aria-label="Next" title="Next (arrow down)" data-testid="inspector-next" onClick={() => move(1)}>
            ↓
          </button>
          <button type="button" aria-label="Close" title="Close (Esc)" data-testid="inspector-close" onClick={close}>
            ✕
          </button>
        </span>
      </header>
      {children}
    </aside>
  );
}
