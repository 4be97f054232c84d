// Describes all pages; route.ts selects the page that the address names.

import type { Topic } from './protocol';

export const GROUPS = ['Work', 'Cluster', 'Coordination'] as const;
export type Group = (typeof GROUPS)[number];

interface PageRow {
  path: string; // '*' stands for the subject
  title: string;
  rail?: string; // missing if the rail does not list this page
  group?: Group; // section of the rail; if missing, the page is above all sections
  key?: string; // key that opens the page after "g"
  find?: string; // label of the search field; if missing, there is no field
  cluster?: boolean; // whether the page shows one selectable cluster
  topics: readonly Topic[];
}

const always = ['counters', 'clusters', 'attention'] as const satisfies readonly Topic[];

// Pages in the order of the rail.
export const PAGES = [
  { path: '/', title: 'Overview', rail: 'Overview', key: 'o', find: 'Find a task, host or incarnation', topics: [...always, 'tasks', 'agents', 'jobs'] },
  { path: '/tasks', title: 'Tasks', rail: 'Tasks', group: 'Cluster', key: 't', find: 'Find a task, host or incarnation', cluster: true, topics: [...always, 'tasks', 'agents', 'barriers', 'events'] },
  { path: '/workers/*', title: 'Worker', cluster: true, topics: [...always, 'tasks', 'events'] },
  { path: '/jobs', title: 'Jobs', rail: 'Jobs', group: 'Work', key: 'j', find: 'Find a job by name or id', cluster: true, topics: [...always, 'jobs'] },
  { path: '/jobs/*', title: 'Job', find: 'Find a closure by function, error or id', topics: [...always, 'jobs'] },
  { path: '/jobs/*/graph', title: 'Graph', topics: [...always, 'jobs'] },
  { path: '/closures/*', title: 'Closure', topics: always },
  { path: '/programs', title: 'Programs', rail: 'Programs', group: 'Work', key: 'p', find: 'Find a program by name or id', cluster: true, topics: [...always, 'programs'] },
  { path: '/programs/*', title: 'Program', cluster: true, topics: [...always, 'barriers'] },
  { path: '/logs', title: 'Logs', rail: 'Logs', group: 'Work', key: 'f', find: 'Find text in logs', cluster: true, topics: always },
  { path: '/stream', title: 'Task stream', rail: 'Task stream', group: 'Work', key: 's', find: 'Find a worker', cluster: true, topics: [...always, 'jobs'] },
  { path: '/values', title: 'Remote values', rail: 'Remote values', group: 'Work', key: 'v', cluster: true, topics: always },
  { path: '/per-worker', title: 'Per-worker values', rail: 'Per-worker values', group: 'Work', key: 'w', find: 'Find a per-worker value by function', cluster: true, topics: always },
  { path: '/objects', title: 'Objects', rail: 'Objects', group: 'Work', key: 'a', find: 'Find an object by name or id', cluster: true, topics: always },
  { path: '/gangs', title: 'Gangs and unmet demand', rail: 'Gangs and demand', group: 'Work', key: 'n', cluster: true, topics: always },
  { path: '/sessions', title: 'Sessions', rail: 'Sessions', group: 'Work', key: 'i', find: 'Find a session by name or id', cluster: true, topics: [...always, 'jobs'] },
  { path: '/barriers', title: 'Barriers', rail: 'Barriers', group: 'Coordination', key: 'b', find: 'Find a barrier', cluster: true, topics: [...always, 'barriers'] },
  { path: '/stragglers', title: 'Stragglers', rail: 'Stragglers', group: 'Coordination', key: 'l', cluster: true, topics: always },
  { path: '/kv', title: 'Key-values', rail: 'Key-values', group: 'Coordination', key: 'k', find: 'Find a key in this folder', cluster: true, topics: always },
  { path: '/events', title: 'Events', rail: 'Events', group: 'Cluster', key: 'e', find: 'Find in events', topics: [...always, 'events'] },
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
  return wanted.length === path.length && wanted.every((part, n) => part === '*' || part === path[n]);
}

// For an unknown path, returns the nearest parent page.
export function pageOf(path: string): Page {
  for (let names = parts(path); names.length > 0; names = names.slice(0, -1)) {
    const found = PAGES.find((page) => fits(page.path, names));
    if (found) return found;
  }
  return PAGES[0];
}

// Returns "a b" for "/jobs/a%20b/graph".
export function subjectOf(path: string): string {
  const at = parts(pageOf(path).path).indexOf('*');
  return at < 0 ? '' : unescaped(parts(path)[at]!);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand; the server will report that the subject does not exist
  }
}

// Returns the path of the page or of its parent.
export function railOf(page: Page): Path {
  if (page.rail) return page.path;
  return page.path.startsWith('/workers') ? '/tasks' : page.path.startsWith('/programs') ? '/programs' : '/jobs';
}

// Converts an address from an earlier version, in which a job was a parameter and a closure was a choice on its job's page. At
// that time, jobs without a started closure were RUNNING.
export function normal({ pathname, search }: Place): Place {
  const query = new URLSearchParams(search);
  const [first, id, ...rest] = parts(pathname);
  if (first === 'jobs' && !id && query.get('job')) return moved(`/jobs/${encodeURIComponent(query.get('job')!)}`, query, 'job');
  if (first === 'jobs' && !id && query.get('state') === 'RUNNING') {
    query.set('state', 'UNFINISHED');
    return { pathname, search: `?${query}` };
  }
  const closure = query.get('closure');
  if (first === 'jobs' && id && rest.length === 0 && closure) {
    query.set('job', unescaped(id));
    return moved(`/closures/${encodeURIComponent(closure)}`, query, 'closure');
  }
  return { pathname, search };
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
