// Which page is shown, and which cluster and job are looked at. All are in the address, so that a view can be pasted in
// a chat.

import { signal } from '@preact/signals';
import type { Topic } from './model/protocol';

export const PAGES = [
  { path: '/', title: 'Overview', key: 'o', topics: ['counters', 'clusters', 'tasks', 'jobs'] },
  { path: '/tasks', title: 'Tasks', key: 't', topics: ['counters', 'clusters', 'tasks', 'agents'] },
  { path: '/jobs', title: 'Jobs', key: 'j', topics: ['counters', 'clusters', 'jobs'] },
  { path: '/barriers', title: 'Barriers', key: 'b', topics: ['counters', 'clusters', 'barriers'] },
  { path: '/kv', title: 'Key-values', key: 'k', topics: ['counters', 'clusters'] },
  { path: '/events', title: 'Events', key: 'e', topics: ['counters', 'clusters', 'events'] },
] as const satisfies readonly { path: string; title: string; key: string; topics: readonly Topic[] }[];
export type Page = (typeof PAGES)[number];

// A path that has no page of its own shows the overview.
export function pageOf(path: string): Page {
  const first = '/' + (path.split('/')[1] ?? '');
  return PAGES.find((page) => page.path === first) ?? PAGES[0];
}

// The job is a part of the path, /jobs/JOB_ID; it was a parameter once, and such addresses are still about.
export function jobOf(at: { pathname: string; search: string }): string {
  const [, first, id] = at.pathname.split('/');
  return (first === 'jobs' && id && unescaped(id)) || (new URLSearchParams(at.search).get('job') ?? '');
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand: the server will say that there is none
  }
}

const parameter = (name: string): string => new URLSearchParams(location.search).get(name) ?? '';

export const page = signal<Page>(pageOf(location.pathname));
export const picked = signal(parameter('cluster')); // empty: the main port's cluster
export const prefix = signal(parameter('prefix')); // of the keys
export const pickedJob = signal(jobOf(location)); // whose closures and lines are shown; empty: the one that runs
export const pickedClosure = signal(parameter('closure')); // empty: the lines of the whole job

function take(): void {
  page.value = pageOf(location.pathname);
  picked.value = parameter('cluster');
  prefix.value = parameter('prefix');
  pickedJob.value = jobOf(location);
  pickedClosure.value = parameter('closure');
}

export function startRouting(): void {
  addEventListener('popstate', take);
}

// Where a link leads: the cluster goes along, what belongs to one page does not.
export function address(path: string, more: Record<string, string> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ cluster: picked.value, ...more })) if (value) query.set(name, value);
  const text = query.toString();
  return path + (text ? `?${text}` : '');
}

export function jobAddress(job: string, more: Record<string, string> = {}): string {
  return address(`/jobs/${encodeURIComponent(job)}`, more);
}

export function go(to: string): void {
  history.pushState(null, '', to);
  take();
}

// A plain click stays in this page; with a modifier the browser does what it always does.
export function follow(event: MouseEvent): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go((event.currentTarget as HTMLAnchorElement).getAttribute('href')!);
}
