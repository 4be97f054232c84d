// Stacks are read only on request, because sampling uses the worker's time.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { plural } from '../shared/model/format';
import { whoStands, whyNotWhole, type ProgramStacks, type StackGroup, type TaskStacks } from './model/stacks';
import { api, get } from '../shared/rest';
import { Panel } from '../shared/panel';

export function StacksPanel({ path }: { path: string }) {
  return (
    <Looked<TaskStacks> path={path} title="Current stack" note={(it) => `${it.worker}${it.pid ? `, process ${it.pid}` : ''}${it.process ? `, ${it.process}` : ''}`}>
      {(it) => <Stack state={it.state} text={it.stack} />}
    </Looked>
  );
}

export function RankStacksPanel({ path }: { path: string }) {
  return (
    <Looked<ProgramStacks> path={path} title="Current stacks of ranks" note={(it) => `attempt ${it.attempt}, grouped by stack`}>
      {(it) => (it.groups.length === 0 ? <p class="calm">No rank is alive.</p> : it.groups.map((g) => <Group key={whoStands(g)} of={g} />))}
    </Looked>
  );
}

function Group({ of }: { of: StackGroup }) {
  const process = of.ranks[0]?.process;
  return (
    <section data-testid="stack-group" data-ranks={of.ranks.length}>
      <h3 class="wrap">
        {plural(of.ranks.length, 'rank')}: <bdi>{whoStands(of)}</bdi>
        {process && ` (${process})`}
      </h3>
      <Stack state={of.state} text={of.stack} />
    </section>
  );
}

export function Stack({ state, text }: { state: string; text?: string }) {
  const why = whyNotWhole(state);
  return (
    <>
      {why && <p class="calm">{why}</p>}
      {text && (
        <pre class="log stack mono" tabIndex={0} role="region" aria-label="Stacks" data-testid="stacks">
          <bdi>{text}</bdi>
        </pre>
      )}
    </>
  );
}

function Looked<T>({ path, title, note, children }: { path: string; title: string; note(it: T): string; children(it: T): ComponentChildren }) {
  const found = useSignal<T | null>(null);
  const problem = useSignal('');
  const asks = useSignal(false);
  const look = async () => {
    asks.value = true;
    try {
      found.value = await get<T>(api(`${path}/stacks`));
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    asks.value = false;
  };
  const it = found.value;
  return (
    <Panel
      id="stacks"
      title={title}
      note={it && note(it)}
      span={12}
      aside={
        <button type="button" disabled={asks.value} data-testid="look-at-stacks" onClick={look}>
          {it ? 'Take stacks again' : 'Take stacks'}
        </button>
      }
    >
      {problem.value && <p class="wrap text-error">{problem.value}</p>}
      {!it && !problem.value && <p class="calm">Taking stacks does not stop the processes.</p>}
      {it && children(it)}
    </Panel>
  );
}
