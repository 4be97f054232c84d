// Ctrl-K: one field that finds pages, clusters, jobs, programs, closures, workers, hosts, keys, saved filters and actions. Loaded
// when it is first opened. Names come from what the page listens to and from REST; all of them are text.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useLooked } from './looked';
import { agentName } from './model/agents';
import { bestOf, named, type Found } from './model/palette';
import { PAGES } from './model/pages';
import type { ProgramView } from './model/rest/programs';
import type { JobView } from './model/rest/views';
import { cluster, clusterQuery, helpOpen, paletteOpen, paused, setPaused, slow, store } from './page';
import { Mark } from './parts/shape';
import { api } from './rest';
import { address, closureAddress, go, jobAddress, programAddress, workerAddress } from './route';
import { savedFilters } from './saved';
import { setTheme, THEMES } from './theme';
import { setZone, zone } from './zone';

const LIMIT = 6;

function* offered(): Generator<Found> {
  for (const p of PAGES) if ('rail' in p) yield { kind: 'page', title: p.title, detail: 'group' in p ? p.group : '', href: address(p.path) };
  for (const { name, href } of savedFilters()) yield { kind: 'saved filter', title: name, detail: href, href };
  for (const c of store.clusters.all()) yield { kind: 'cluster', title: c.name, detail: c.state.toLowerCase(), href: `/?cluster=${encodeURIComponent(c.name)}` };
  yield { kind: 'action', title: paused.value ? 'Resume updates' : 'Pause updates', detail: '', act: () => setPaused(!paused.value) };
  yield { kind: 'action', title: 'Show the keys', detail: 'help', act: () => (helpOpen.value = true) };
  for (const theme of THEMES) yield { kind: 'action', title: `Theme: ${theme}`, detail: 'colours', act: () => setTheme(theme) };
  const other = zone.value === 'UTC' ? 'local' : 'UTC';
  yield { kind: 'action', title: `Times in ${other === 'UTC' ? 'UTC' : 'local time'}`, detail: 'zone', act: () => setZone(other) };
  for (const job of store.jobs()) yield { kind: 'job', title: job.name || job.id, detail: `${job.id} ${job.state.toLowerCase()}`, href: jobAddress(job.id) };
  const { tasks } = store;
  for (let slot = 0; slot < tasks.size; ++slot) {
    const task = tasks.view(tasks.idAt(slot));
    if (task) yield { kind: 'worker', title: task.name, detail: `${task.host} ${task.state.toLowerCase()}${task.cluster && ` ${task.cluster}`}`, href: workerAddress(task.name, task.cluster) };
  }
  for (const agent of store.agents.all())
    yield { kind: 'agent', title: agentName(agent), detail: `${agent.cluster} ${agent.address} ${agent.state.toLowerCase()}`, href: address('/tasks', { cluster: agent.cluster, q: agentName(agent) }) };
}

export function Palette() {
  slow.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const at = useSignal(0);
  const text = typed.value.trim();
  useEffect(() => dialog.current!.showModal(), []);
  const jobs = useLooked<{ jobs: JobView[] }>(text ? api('jobs', { q: text, limit: LIMIT, cluster: clusterQuery.value }) : '', { keep: true, over: () => true }).value?.jobs ?? [];
  const programs = useLooked<{ programs: ProgramView[] }>(text ? api('programs', { q: text, limit: LIMIT, cluster: clusterQuery.value }) : '', { keep: true, over: () => true }).value?.programs ?? [];
  const of = cluster()?.name ?? '';
  const keys = useLooked<{ keys?: { key: string }[] }>(text && of ? api(`clusters/${encodeURIComponent(of)}/kv`, { prefix: text, include_values: 'false', limit: LIMIT }) : '', { keep: true, over: () => true }).value?.keys ?? [];

  const id = named(text);
  const found: Found[] = id ? [{ kind: id.kind, title: id.id, detail: 'open it', href: id.kind === 'job' ? jobAddress(id.id) : id.kind === 'program' ? programAddress(id.id) : closureAddress(id.id) }] : [];
  const extra: Found[] = [
    ...jobs.map((j) => ({ kind: 'job', title: j.name || j.id, detail: `${j.id} ${j.state.toLowerCase()}`, href: jobAddress(j.id) })),
    ...programs.map((p) => ({ kind: 'program', title: p.name, detail: `${p.id} ${p.state.toLowerCase()}`, href: programAddress(p.id) })),
    ...keys.map(({ key }) => ({ kind: 'key', title: key, detail: of, href: address('/kv', { key }) })),
  ];
  const had = new Set(found.map((f) => f.href));
  for (const one of bestOf([...offered(), ...extra], text)) {
    if (one.href && had.has(one.href)) continue;
    if (one.href) had.add(one.href);
    found.push(one);
  }
  const now = Math.min(at.value, found.length - 1);
  const close = () => dialog.current?.close();
  const take = (one: Found | undefined) => {
    if (!one) return;
    close();
    if (one.href) go(one.href);
    else one.act?.();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === 'ArrowDown') at.value = Math.min(found.length - 1, now + 1);
    else if (event.key === 'ArrowUp') at.value = Math.max(0, now - 1);
    else if (event.key === 'Enter') take(found[now]);
    else return;
    event.preventDefault();
    document.getElementById(`palette-${at.value}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <dialog ref={dialog} class="help palette" aria-label="Find anything" data-testid="palette" onClose={() => (paletteOpen.value = false)} onClick={(event) => event.target === dialog.current && close()}>
      <input
        type="text"
        role="combobox"
        aria-label="Find a page, job, program, closure, worker, host, key or action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={now >= 0 ? `palette-${now}` : undefined}
        placeholder="Find a page, job, program, worker, host, key or action"
        autoFocus
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" aria-label="Found" data-testid="palette-list">
        {found.map((one, n) => (
          <li key={`${one.kind} ${one.href ?? one.title}`} id={`palette-${n}`} role="option" aria-selected={n === now} data-testid="palette-row" data-kind={one.kind} onClick={() => take(one)}>
            <span class="soft palette-kind">{one.kind}</span>
            <bdi class="clip">{one.title}</bdi>
            <bdi class="clip soft">{one.detail}</bdi>
          </li>
        ))}
      </ul>
      <p class="note" role="status">
        {found.length === 0 ? (
          <>
            <Mark shape="waiting" /> Nothing fits. Closures are found by their id, or on the page of their job.
          </>
        ) : (
          '↑ ↓ to choose, Enter to go, Esc to close'
        )}
      </p>
    </dialog>
  );
}
