// Loaded when the palette is first opened. Names come from the page's topics and from REST, and are shown as text.

import { useSignal } from '@preact/signals';
import type { WorkPage } from 'muster-rest';
import { useEffect, useRef } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import { agentName, hostOf } from '../shared/model/agents';
import { plural } from '../shared/model/format';
import { bestOf, named, type Found } from './model/palette';
import { jobOrders, programOrders, verbsIn, workerOrders, type Order } from './model/palette-actions';
import { pageOf, PAGES, railOf } from '../shared/model/pages';
import { nameOf } from '../shared/model/closures';
import type { ProgramView } from '../shared/model/programs';
import type { ClosureView, JobView, ObjectView, ValueRow } from '../shared/model/views';
import { cluster, clusterQuery, helpOpen, paletteOpen, paused, serverOpen, setPaused, slow, store } from '../shared/page';
import { Question } from '../shared/action';
import { Mark } from '../shared/shape';
import { api, get, send } from '../shared/rest';
import { address, closureAddress, go, jobAddress, page, programAddress, subject, workerAddress } from '../shared/route';
import { savedFilters } from '../shared/saved';
import { setTheme, THEMES } from '../shared/theme';
import { setZone, zone } from '../shared/zone';

const LIMIT = 6;
const CLUSTERS = 5; // maximum number of clusters whose keys are searched
const ERROR_TEXT = 3; // minimum number of characters for a search in error messages

function* offered(typed: string): Generator<Found> {
  for (const p of PAGES) if (!p.path.includes('*')) yield { kind: 'page', title: p.title, detail: pageOf(railOf(p)).rail ?? '', href: address(p.path) };
  for (const { name, href } of savedFilters()) yield { kind: 'saved filter', title: name, detail: href, href };
  for (const c of store.clusters.all()) yield { kind: 'cluster', title: c.name, detail: c.state.toLowerCase(), href: `/?cluster=${encodeURIComponent(c.name)}` };
  yield { kind: 'action', title: paused.value ? 'Resume updates' : 'Pause updates', detail: '', act: () => setPaused(!paused.value) };
  yield { kind: 'action', title: 'Server health', detail: 'event-loop lag, engine queue, disk sync, memory, CPU', act: () => (serverOpen.value = true) };
  yield { kind: 'action', title: 'Show the keyboard shortcuts', detail: 'help', act: () => (helpOpen.value = true) };
  for (const theme of THEMES) yield { kind: 'action', title: `Theme: ${theme}`, detail: 'colours', act: () => setTheme(theme) };
  const other = zone.value === 'UTC' ? 'local' : 'UTC';
  yield { kind: 'action', title: `Times in ${other === 'UTC' ? 'UTC' : 'local time'}`, detail: 'zone', act: () => setZone(other) };
  for (const job of store.jobs()) yield { kind: 'job', title: job.name || job.id, detail: `${job.id} ${job.state.toLowerCase()}`, href: jobAddress(job.id) };
  const { verbs, rest } = verbsIn(typed);
  const home = store.clusters.all().find((c) => c.main)?.name ?? '';
  const hosts = new Map<string, number>();
  const { tasks } = store;
  for (let slot = 0; slot < tasks.size; ++slot) {
    const task = tasks.view(tasks.idAt(slot));
    if (task) yield { kind: 'worker', title: task.name, detail: `${task.host} ${task.state.toLowerCase()}${task.cluster && ` ${task.cluster}`}`, href: workerAddress(task.name, task.cluster) };
    if (task) hosts.set(task.host, (hosts.get(task.host) ?? 0) + 1);
    if (task && verbs.length > 0 && `${task.name} ${task.host}`.toLowerCase().includes(rest)) for (const order of workerOrders(verbs, task, task.cluster || home)) yield asked(order);
  }
  for (const agent of store.agents.all()) {
    const host = hostOf(agent.address);
    if (host) hosts.set(host, (hosts.get(host) ?? 0) + 1);
    yield {
      kind: 'agent',
      title: agentName(agent),
      detail: `${agent.cluster} ${agent.address} ${agent.state.toLowerCase()}`,
      href: address('/fleet', { cluster: agent.cluster, q: agentName(agent) }),
    };
  }
  for (const b of store.barriers.all())
    yield {
      kind: 'barrier',
      title: b.id,
      detail: `${b.cluster} ${b.state === 'RUNNING' ? `waiting, ${b.arrived} of ${b.of} arrived` : b.state.toLowerCase()}`,
      href: address('/agreement', { cluster: b.cluster, ...(b.state === 'RUNNING' ? { id: b.id } : { q: b.id }) }),
    };
  for (const [host, n] of hosts) if (host) yield { kind: 'host', title: host, detail: plural(n, 'task'), href: address('/fleet', { q: host }) };
}

const asked = (order: Order): Found => ({ kind: 'action', title: order.title, detail: order.detail, asks: order });

function useAsked<Row>(name: string, path: string): readonly Row[] {
  return useLooked<Record<string, Row[]>>(path, { keep: true, over: () => true }).value?.[name] ?? [];
}

interface Key {
  key: string;
  cluster: string;
}

// Searches the chosen cluster, and the other clusters with the most keys.
function useKeys(text: string): readonly Key[] {
  const now = cluster()?.name;
  const names = store.clusters
    .all()
    .filter((c) => c.keys > 0)
    .sort((a, b) => Number(b.name === now) - Number(a.name === now) || b.keys - a.keys)
    .slice(0, CLUSTERS)
    .map((c) => c.name);
  const of = async (name: string): Promise<Key[]> => {
    const { keys } = await get<{ keys: { key: string }[] }>(api(`clusters/${encodeURIComponent(name)}/kv`, { prefix: text, include_values: 'false', limit: LIMIT }));
    return keys.map(({ key }) => ({ key, cluster: name }));
  };
  const looked = useLooked<readonly Key[]>(text && names.length > 0 ? `${names.map(encodeURIComponent).join('/')}?${text}` : '', {
    keep: true,
    over: () => true,
    read: async () => (await Promise.allSettled(names.map(of))).flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
  });
  return (text && looked.value) || [];
}

export function Palette() {
  slow.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const at = useSignal(0);
  const question = useSignal<Order | null>(null);
  const text = typed.value.trim();
  useEffect(() => dialog.current!.showModal(), []);
  const { verbs, rest } = verbsIn(text);
  const q = verbs.length > 0 ? rest : text; // "cancel nightly" searches for "nightly"
  const cl = clusterQuery.value;
  const jobs = useAsked<JobView>('jobs', text && api('jobs', { q, limit: LIMIT, cluster: cl }));
  const programs = useAsked<ProgramView>('programs', text && api('programs', { q, limit: LIMIT, cluster: cl }));
  const objects = useAsked<ObjectView>('objects', text && api('objects', { q, limit: LIMIT, cluster: cl }));
  // On a job's page, its closures are searched by their content.
  const inJob = page.value.path === '/runs/*' ? subject.value : '';
  const closures = useAsked<ClosureView>('closures', text && inJob && api(`jobs/${encodeURIComponent(inJob)}/closures`, { q, limit: LIMIT }));
  const keys = useKeys(text);
  const users = useLooked<WorkPage>(text && api('work', { limit: 1, cluster: cl }), { keep: true, over: () => true }).value?.facets.users ?? [];
  // A short text is in most error messages.
  const failed = useAsked<ValueRow>('remote_values', text.length >= ERROR_TEXT && verbs.length === 0 ? api('remote_values', { q: text, error: 'true', limit: LIMIT, cluster: cl }) : '');

  const id = named(text);
  const found: Found[] = id
    ? [
        {
          kind: id.kind,
          title: id.id,
          detail: 'open it',
          href: id.kind === 'job' ? jobAddress(id.id) : id.kind === 'program' ? programAddress(id.id) : id.kind === 'object' ? address('/explore/objects', { object: id.id }) : closureAddress(id.id),
        },
      ]
    : [];
  const extra: Found[] = [
    ...jobs.map((j) => ({ kind: 'job', title: j.name || j.id, detail: `${j.id} ${j.state.toLowerCase()}`, href: jobAddress(j.id) })),
    ...programs.map((p) => ({ kind: 'program', title: p.name, detail: `${p.id} ${p.state.toLowerCase()}`, href: programAddress(p.id) })),
    ...objects.map((o) => ({ kind: 'object', title: o.name ?? o.id, detail: `${o.class} ${o.task} ${o.state.toLowerCase()}`, href: address('/explore/objects', { object: o.id }) })),
    ...closures.map((c) => ({ kind: 'closure', title: `${nameOf(c)} #${c.index}`, detail: `${c.id} ${c.state.toLowerCase()} ${c.error?.message ?? ''}`, href: closureAddress(c.id, c.job) })),
    ...(verbs.length > 0 ? [...jobs.flatMap((j) => jobOrders(verbs, j)), ...programs.flatMap((p) => programOrders(verbs, p))].map(asked) : []),
    ...users.filter(({ value }) => value !== '-').map(({ value, runs }) => ({ kind: 'user', title: value, detail: plural(runs, 'run'), href: address('/work', { user: value }) })),
    ...keys.map(({ key, cluster: of }) => ({ kind: 'key', title: key, detail: of, href: address('/agreement/keys', { cluster: of, key }) })),
    ...failed.map((v) => ({
      kind: 'failed call',
      title: `${v.display_name ?? v.function} #${v.index}`,
      detail: `${v.error_line ?? ''} ${v.id}`,
      href: closureAddress(v.closure, v.job),
    })),
  ];
  const had = new Set(found.map((f) => f.href));
  for (const one of bestOf([...offered(text), ...extra], text)) {
    if (one.href && had.has(one.href)) continue;
    if (one.href) had.add(one.href);
    found.push(one);
  }
  if (text && !id && verbs.length === 0) found.push({ kind: 'logs', title: `Lines with “${text}”`, detail: 'search in logs', href: address('/explore', { q: text }) });
  const now = Math.min(at.value, found.length - 1);
  const close = () => dialog.current?.close();
  const take = (one: Found | undefined) => {
    if (!one) return;
    if (one.asks) return void (question.value = one.asks);
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
  const order = question.value;
  if (order)
    return (
      <Question
        title={order.question}
        yes={order.yes}
        danger={order.danger}
        done={order.done}
        run={async () => {
          const answer = await send<{ id: string }>('POST', api(order.path));
          if (order.leads === 'job' && answer) go(jobAddress(answer.id));
        }}
        close={() => (paletteOpen.value = false)}
      >
        <p>{order.says}</p>
      </Question>
    );
  return (
    <dialog
      ref={dialog}
      class="help palette"
      aria-label="Find anything"
      data-testid="palette"
      onClose={() => (paletteOpen.value = false)}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Find a page, job, program, closure, error, user, worker, host, object, barrier, key or action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={now >= 0 ? `palette-${now}` : undefined}
        placeholder="Find a page, job, program, user, worker, host, barrier, key, error or action"
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
          <li
            key={`${one.kind} ${one.href ?? one.title} ${one.asks?.path ?? ''}`}
            id={`palette-${n}`}
            role="option"
            aria-selected={n === now}
            data-testid="palette-row"
            data-kind={one.kind}
            onClick={() => take(one)}
          >
            <span class="soft palette-kind">{one.kind}</span>
            <bdi class="clip">{one.title}</bdi>
            <bdi class="clip soft">{one.detail}</bdi>
          </li>
        ))}
      </ul>
      <p class="note" role="status">
        {found.length === 0 ? (
          <>
            <Mark shape="waiting" /> Nothing matches. To find a closure, enter its id, or search by function or error on the page of its job.
          </>
        ) : (
          '↑ ↓ to choose, Enter to go, Esc to close'
        )}
      </p>
    </dialog>
  );
}
