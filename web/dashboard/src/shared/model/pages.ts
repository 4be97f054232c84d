// Describes all pages; route.ts selects the page that the address names.

import type { Topic } from './protocol';

interface PageRow {
  path: string; // '*' stands for the subject, or for the rest of it
  title: string;
  rail?: string; // label in the rail; missing if the rail does not list this page
  under?: string; // the page of the rail to which this page belongs
  tab?: string; // label among the tabs of its page of the rail; missing if it is no tab
  key?: string; // key that opens the page after "g"
  find?: string; // label of the search field; if missing, there is no field
  range?: boolean; // whether the page has a query and a time range, which its tabs keep
  cluster?: boolean; // whether the page shows one selectable cluster
  topics: readonly Topic[];
}

const always = ['counters', 'clusters', 'attention', 'programs'] as const satisfies readonly Topic[];

// Pages in the order of the rail and of the tabs.
export const PAGES = [
  { path: '/now', title: 'Now', rail: 'Now', tab: 'Now', key: 'o', topics: [...always, 'tasks', 'jobs'] },
  { path: '/now/charts', title: 'Charts', under: '/now', tab: 'Charts', key: 'c', find: 'Find a task, host or incarnation', topics: [...always, 'tasks', 'agents', 'jobs'] },
  { path: '/work', title: 'Work', rail: 'Work', key: 'j', find: 'Find a job, session or program by name or id', cluster: true, topics: [...always, 'jobs'] },
  // The next two pages are /work with a filter; `normal` replaces their addresses.
  { path: '/sessions', title: 'Sessions', under: '/work', key: 'i', topics: always },
  { path: '/programs', title: 'Programs', under: '/work', key: 'p', topics: always },
  { path: '/runs/prog_*', title: 'Program', under: '/work', cluster: true, topics: [...always, 'barriers'] },
  { path: '/runs/*', title: 'Job', under: '/work', find: 'Find a closure by function, error or id', topics: [...always, 'jobs'] },
  { path: '/runs/*/graph', title: 'Graph', under: '/work', topics: [...always, 'jobs'] },
  { path: '/closures/*', title: 'Closure', under: '/work', topics: [...always, 'jobs'] },
  { path: '/queue', title: 'Queue', rail: 'Queue', key: 'n', cluster: true, topics: always },
  { path: '/fleet', title: 'Fleet', rail: 'Fleet', key: 't', find: 'Find a worker, agent, host or error', cluster: true, topics: [...always, 'tasks', 'agents', 'barriers', 'events'] },
  { path: '/fleet/*', title: 'Worker', under: '/fleet', cluster: true, topics: [...always, 'tasks', 'events'] },
  { path: '/agreement', title: 'Barriers', rail: 'Agreement', tab: 'Barriers', key: 'b', find: 'Find a barrier', cluster: true, topics: [...always, 'barriers', 'agents'] },
  { path: '/agreement/stragglers', title: 'Stragglers', under: '/agreement', tab: 'Stragglers', key: 'l', cluster: true, topics: always },
  { path: '/agreement/keys', title: 'Key-values', under: '/agreement', tab: 'Key-values', key: 'k', find: 'Find a key in this folder', cluster: true, topics: always },
  { path: '/explore', title: 'Logs', rail: 'Explore', tab: 'Logs', key: 'f', find: 'Find text in logs', cluster: true, range: true, topics: [...always, 'jobs'] },
  { path: '/explore/events', title: 'Events', under: '/explore', tab: 'Events', key: 'e', find: 'Find in events', range: true, topics: [...always, 'events'] },
  { path: '/explore/stream', title: 'Task stream', under: '/explore', tab: 'Task stream', key: 's', find: 'Find a worker', cluster: true, range: true, topics: [...always, 'jobs'] },
  {
    path: '/explore/values',
    title: 'Remote values',
    under: '/explore',
    tab: 'Remote values',
    key: 'v',
    find: 'Find a value by function or error',
    cluster: true,
    range: true,
    topics: [...always, 'jobs'],
  },
  {
    path: '/explore/per-worker',
    title: 'Per-worker values',
    under: '/explore',
    tab: 'Per-worker values',
    key: 'w',
    find: 'Find a per-worker value by function',
    cluster: true,
    range: true,
    topics: [...always, 'jobs'],
  },
  { path: '/explore/objects', title: 'Objects', under: '/explore', tab: 'Objects', key: 'a', find: 'Find an object by name or id', cluster: true, range: true, topics: [...always, 'jobs'] },
] as const satisfies readonly PageRow[];
export type Path = (typeof PAGES)[number]['path'];
export interface Page extends PageRow {
  path: Path;
}

export interface Place {
  pathname: string;
  search: string;
}

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');

function fits(pattern: string, path: readonly string[]): boolean {
  const wanted = parts(pattern);
  return wanted.length === path.length && wanted.every((part, n) => (part.endsWith('*') ? path[n]!.startsWith(part.slice(0, -1)) : part === path[n]));
}

// For an unknown path, returns the nearest parent page. The most specific pattern wins, that is, the longest one.
export function pageOf(path: string): Page {
  for (let names = parts(path); names.length > 0; names = names.slice(0, -1)) {
    const fitting: Page[] = PAGES.filter((page) => fits(page.path, names));
    const found = fitting.sort((a, b) => b.path.length - a.path.length)[0];
    if (found) return found;
  }
  return PAGES[0];
}

// Returns "a b" for "/jobs/a%20b/graph".
export function subjectOf(path: string): string {
  const at = parts(pageOf(path).path).findIndex((part) => part.endsWith('*'));
  return at < 0 ? '' : unescaped(parts(path)[at]!);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand; the server will report that the subject does not exist
  }
}

// Returns the page of the rail to which a page belongs.
export function railOf(page: Page): Path {
  return (page.under ?? page.path) as Path;
}

// Returns the tabs that a page shares with others; none if the page has no tab.
export function tabsOf(page: Page): readonly Page[] {
  return page.tab ? PAGES.filter((other: Page) => other.tab && railOf(other) === railOf(page)) : [];
}

// Addresses of earlier versions by their first part. The rest of the path is kept.
const RENAMED: Readonly<Record<string, string>> = {
  '': '/now',
  'index.html': '/now',
  tasks: '/fleet',
  workers: '/fleet',
  jobs: '/work',
  gangs: '/queue',
  barriers: '/agreement',
  stragglers: '/agreement/stragglers',
  kv: '/agreement/keys',
  logs: '/explore',
  events: '/explore/events',
  stream: '/explore/stream',
  values: '/explore/values',
  'per-worker': '/explore/per-worker',
  objects: '/explore/objects',
};

// Lists that are a filter of the list of all runs.
const KIND_OF: Readonly<Record<string, string>> = { '/sessions': 'session', '/programs': 'program' };

export function normal(place: Place): Place {
  const { pathname, search } = renamed(place);
  const query = new URLSearchParams(search);
  const kind = KIND_OF[pathname] ?? { true: 'session', false: 'job' }[pathname === '/work' ? (query.get('streaming') ?? '') : ''];
  if (!kind) return { pathname, search };
  query.delete('streaming');
  query.set('kind', kind);
  return { pathname: '/work', search: `?${query}` };
}

// Converts an address of an earlier version. Once, a job was a parameter and a closure was a choice on its job's page, and
// jobs without a started closure were RUNNING.
function renamed({ pathname, search }: Place): Place {
  const query = new URLSearchParams(search);
  const [first = '', id, ...rest] = parts(pathname);
  if (first === 'jobs' && !id && query.get('job')) return moved(`/runs/${encodeURIComponent(query.get('job')!)}`, query, 'job');
  if (first === 'jobs' && !id && query.get('state') === 'RUNNING') {
    query.set('state', 'UNFINISHED');
    return { pathname: '/work', search: `?${query}` };
  }
  const closure = query.get('closure');
  if (first === 'jobs' && id && rest.length === 0 && closure) {
    query.set('job', unescaped(id));
    return moved(`/closures/${encodeURIComponent(closure)}`, query, 'closure');
  }
  if ((first === 'jobs' || first === 'programs') && id) return { pathname: ['/runs', id, ...rest].join('/'), search };
  const to = Object.hasOwn(RENAMED, first) ? RENAMED[first]! : undefined;
  return to === undefined ? { pathname, search } : { pathname: [to, ...(id === undefined ? [] : [id]), ...rest].join('/'), search };
}

function moved(pathname: string, query: URLSearchParams, without: string): Place {
  query.delete(without);
  const text = query.toString();
  return { pathname, search: text ? `?${text}` : '' };
}

// The number of alerts and the subject come first, because tabs are narrow.
export function tabTitle(page: Page, name: string, alerts = 0): string {
  return `${alerts > 0 ? `(${alerts}) ` : ''}${name ? `${name} · ` : ''}${page.title} · Muster`;
}
