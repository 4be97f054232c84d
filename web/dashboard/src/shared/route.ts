// The address contains the page, its subject and all settings, so that any view can be shared as a link. There is no
// other copy: `chosen(name)` reads the address, so page and address cannot differ.

import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { inside, outside } from './base';
import { normal, pageOf, subjectOf, type Page } from './model/pages';

const here = () => ({ pathname: inside(location.pathname), search: location.search });
const at = signal(normal(here()));

export const page: ReadonlySignal<Page> = computed(() => pageOf(at.value.pathname));
export const addressNow = computed(() => at.value.pathname + at.value.search);
// The subject, which is empty on pages without a subject.
export const subject = computed(() => subjectOf(at.value.pathname));

const query = computed(() => new URLSearchParams(at.value.search));
const choices = new Map<string, ReadonlySignal<string>>();

// Returns a choice of the user, or an empty string.
export function chosen(name: string): ReadonlySignal<string> {
  let choice = choices.get(name);
  if (!choice) choices.set(name, (choice = computed(() => query.value.get(name) ?? '')));
  return choice;
}

// An empty choice is removed from the address. Use 'replace' while the user types or moves in a list, so that "back"
// returns to the previous view.
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

export const picked = chosen('cluster'); // empty for the main port's cluster
export const prefix = chosen('prefix'); // key prefix

function take(): void {
  const url = normal(here());
  if (url.pathname !== inside(location.pathname) || url.search !== location.search) history.replaceState(history.state, '', outside(url.pathname + url.search));
  at.value = url;
}

// Functions that are called when the user leaves a page within this window; scroll.ts sets them.
export const leaving = { now: () => {}, left: () => {} };

function move(to: string, how: 'push' | 'replace'): void {
  if (how === 'push') {
    const another = to.split('?')[0] !== at.peek().pathname;
    leaving.now();
    history.pushState(null, '', outside(to));
    if (another) leaving.left();
  } else history.replaceState(history.state, '', outside(to));
  take();
}

export function startRouting(): void {
  take();
  addEventListener('popstate', take);
}

// Returns an address with the selected cluster, without other choices of the current page.
export function address(path: string, more: Readonly<Record<string, string>> = {}): string {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries({ cluster: picked.value, ...more })) if (value) next.set(name, value);
  const text = next.toString();
  return path + (text ? `?${text}` : '');
}

const one = (path: string, id: string, more: Readonly<Record<string, string>> = {}): string => address(`${path}/${encodeURIComponent(id)}`, more);

export const jobAddress = (job: string, more: Readonly<Record<string, string>> = {}): string => one('/runs', job, more);
export const programAddress = (program: string): string => one('/runs', program);
// The server finds some closures only through their job.
export const closureAddress = (closure: string, job = ''): string => one('/closures', closure, { job });
// The address contains the cluster, because two clusters can have the same task names.
export const workerAddress = (task: string, cluster = picked.value): string => one('/fleet', task, { cluster });

export function go(to: string): void {
  move(to, 'push');
}

// A plain click navigates within the dashboard; with a modifier key, the browser handles the click.
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(inside((event.currentTarget as HTMLAnchorElement).getAttribute('href')!));
}
