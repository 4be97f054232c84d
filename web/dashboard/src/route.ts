// Which page is shown, of what, and how: all of it is in the address, so that any view can be pasted in a chat. The path
// says the page and its subject, the query every filter and choice. Nothing else holds them: who reads `chosen(name)`
// reads the address, so what the page shows and what the address says cannot differ.

import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { normal, pageOf, subjectOf, type Page } from './model/pages';

const here = () => ({ pathname: location.pathname, search: location.search });
const at = signal(normal(here()));

export const page: ReadonlySignal<Page> = computed(() => pageOf(at.value.pathname));
// The address as it is: who reads it is drawn anew when it changes.
export const addressNow = computed(() => at.value.pathname + at.value.search);
// What the page is about, /jobs/JOB_ID; empty on pages that are about everything.
export const subject = computed(() => subjectOf(at.value.pathname));

const query = computed(() => new URLSearchParams(at.value.search));
const choices = new Map<string, ReadonlySignal<string>>();

// A choice of the user, by its name in the address; empty when nothing was chosen.
export function chosen(name: string): ReadonlySignal<string> {
  let choice = choices.get(name);
  if (!choice) choices.set(name, (choice = computed(() => query.value.get(name) ?? '')));
  return choice;
}

// Changes choices; an empty one leaves the address. 'replace' while one types or moves about in a list, so that "back"
// leads to the view before.
export function choose(changes: Readonly<Record<string, string>>, how: 'push' | 'replace' = 'push'): void {
  const next = new URLSearchParams(query.peek());
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  const to = at.peek().pathname + (text ? `?${text}` : '');
  if (to !== at.peek().pathname + at.peek().search) move(to, how);
}

export const picked = chosen('cluster'); // empty: the main port's cluster
export const prefix = chosen('prefix'); // of the keys

function take(): void {
  const url = normal(here());
  if (url.pathname !== location.pathname || url.search !== location.search) history.replaceState(history.state, '', url.pathname + url.search);
  at.value = url;
}

// What happens when a page is left for another address of the same browser window; scroll.ts sets it.
export const leaving = { now: () => {}, left: () => {} };

function move(to: string, how: 'push' | 'replace'): void {
  if (how === 'push') {
    const another = to.split('?')[0] !== at.peek().pathname;
    leaving.now();
    history.pushState(null, '', to);
    if (another) leaving.left();
  } else history.replaceState(history.state, '', to);
  take();
}

export function startRouting(): void {
  take();
  addEventListener('popstate', take);
}

// Where a link leads: the cluster goes along, what belongs to one page does not.
export function address(path: string, more: Readonly<Record<string, string>> = {}): string {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries({ cluster: picked.value, ...more })) if (value) next.set(name, value);
  const text = next.toString();
  return path + (text ? `?${text}` : '');
}

const one = (path: string, id: string, more: Readonly<Record<string, string>> = {}): string => address(`${path}/${encodeURIComponent(id)}`, more);

export const jobAddress = (job: string, more: Readonly<Record<string, string>> = {}): string => one('/jobs', job, more);
export const programAddress = (program: string): string => one('/programs', program);
// The server finds some closures only by the job that had them.
export const closureAddress = (closure: string, job = ''): string => one('/closures', closure, { job });
// Tasks are named "worker:3"; the cluster tells those of several apart.
export const workerAddress = (task: string, cluster = picked.value): string => one('/workers', task, { cluster });

export function go(to: string): void {
  move(to, 'push');
}

// A plain click stays in this page; with a modifier the browser does what it always does.
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go((event.currentTarget as HTMLAnchorElement).getAttribute('href')!);
}
