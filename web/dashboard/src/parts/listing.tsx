// A list that the server sends a page at a time, however long it is. Which page, filter and order are in the address.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLooked, type Looked } from '../looked';
import { countLine, readOn, type Listing, type Page } from '../model/rest/listing';
import { get } from '../rest';
import { addressNow, choose, chosen, follow, page } from '../route';
import { forgetFilter, isSaved, savedFilters, saveFilter } from '../saved';
import type { Sorting } from './grid';

const SAVED_SHOWN = 6;

interface Options<Row> {
  every?: number;
  over?(): boolean; // nothing in the list can change any more
  rows(body: never): readonly Row[];
}

// `path` without the page's token; an empty one asks nothing.
export function useListing<Row>(path: string, limit: number, { every = 2000, over = () => false, rows }: Options<Row>): Looked<Listing<Row>> {
  const token = chosen('page').value;
  const join = path.includes('?') ? '&' : '?';
  const read = (from: string) =>
    readOn<Row>(limit, token, async (next) => {
      const page = next ? `&page_token=${encodeURIComponent(next)}` : '';
      const body = await get<{ next_page_token?: string; looked_at?: number; of?: number }>(`${from}${page}`);
      return { rows: rows(body as never), next: body.next_page_token ?? '', lookedAt: body.looked_at ?? 0, of: body.of ?? 0 } satisfies Page<Row>;
    });
  const asked = path && `${path}${join}limit=${limit}`;
  // The token is a part of the question, though `read` adds it: another page is another question.
  return useLooked<Listing<Row>>(asked && `${asked}#${token}`, { every, over, keep: true, read: (question) => read(question.slice(0, question.lastIndexOf('#'))) });
}

// A changed filter or order begins at the first page again.
export function filter(changes: Readonly<Record<string, string>>, how: 'push' | 'replace' = 'push'): void {
  choose({ ...changes, page: '', at: '' }, how);
}

export function useSorting(usual: string, usuallyDescending = false): Sorting & { order: string } {
  const by = chosen('sort').value || usual;
  const order = chosen('order').value || (by === usual && usuallyDescending ? 'desc' : 'asc');
  const sort = (next: string, descending: boolean) => filter({ sort: next === usual ? '' : next, order: descending === (next === usual && usuallyDescending) ? '' : descending ? 'desc' : 'asc' });
  return { by, order, descending: order === 'desc', sort };
}

// The filters of a list, a way to be rid of them all, and below them why the list could not be read.
export function Filters({ names, problem, children }: { names: readonly string[]; problem: string; children: ComponentChildren }) {
  const any = names.map((name) => chosen(name).value).some(Boolean);
  return (
    <>
      <div class="filters">
        {children}
        {any && (
          <button type="button" data-testid="clear-filters" onClick={() => filter(Object.fromEntries(names.map((name) => [name, ''])))}>
            Clear filters
          </button>
        )}
        {any && <Save />}
        <SavedHere />
      </div>
      <Problem text={problem} />
    </>
  );
}

// The saved ones of this page.
function SavedHere() {
  const here = `${page.value.path}?`;
  const now = addressNow.value;
  const those = savedFilters().filter(({ href }) => href.startsWith(here) && href !== now);
  if (those.length === 0) return null;
  return (
    <span class="saved" data-testid="saved-here">
      <span class="soft">Saved:</span>
      {those.slice(-SAVED_SHOWN).map(({ href, name }) => (
        <a key={href} href={href} onClick={follow}>
          <bdi>{name.slice(name.indexOf(': ') + 2)}</bdi>
        </a>
      ))}
    </span>
  );
}

// A filter that is saved is found by ctrl-K, under its page and what it filters by.
function Save() {
  const [pathname, search] = addressNow.value.split('?');
  const query = new URLSearchParams(search);
  for (const name of ['page', 'at']) query.delete(name);
  const href = `${pathname}?${query}`;
  const kept = isSaved(href);
  const name = `${page.value.title}: ${[...query].map(([key, value]) => (key === 'q' ? `“${value}”` : `${key} ${value.toLowerCase()}`)).join(', ')}`;
  return (
    <button type="button" data-testid="save-filter" aria-pressed={kept} onClick={() => (kept ? forgetFilter(href) : saveFilter(href, name))}>
      {kept ? 'Saved' : 'Save filter'}
    </button>
  );
}

export function Problem({ text }: { text: string }) {
  return text ? (
    <p class="calm text-error" role="alert">
      <bdi>{text}</bdi>
    </p>
  ) : null;
}

// Which rows are shown of how many, and the way to the others.
export function Pages<Row>({ looked, what, filtered }: { looked: Looked<Listing<Row>>; what: string; filtered: boolean }) {
  const listing = looked.value;
  if (!listing) return null;
  const at = Number(chosen('at').value) || 0;
  const later = chosen('page').value !== '';
  return (
    <div class="pages">
      <span data-testid="count-line" role="status">
        {looked.stale ? 'Looking…' : countLine(listing, at, what, filtered)}
      </span>
      {(later || listing.next) && (
        <span class="pages-turn">
          <button type="button" disabled={!later} data-testid="first-page" onClick={() => choose({ page: '', at: '' })}>
            First
          </button>
          <button type="button" disabled={!listing.next} data-testid="next-page" onClick={() => choose({ page: listing.next, at: String(at + listing.rows.length) })}>
            Next
          </button>
        </span>
      )}
    </div>
  );
}

// A field of a filter: what is typed goes to the server once one pauses.
export function FilterField({ name, label, list }: { name: string; label: string; list?: readonly string[] }) {
  const value = chosen(name).value;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  const set = (next: string) => filter({ [name]: next.trim() }, 'replace');
  return (
    <label class="field">
      <span>{label}</span>
      <input
        ref={input}
        type="search"
        defaultValue={value}
        data-testid={`filter-${name}`}
        list={list && `${name}-list`}
        onInput={({ currentTarget }) => {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => set(currentTarget.value), 300);
        }}
        onChange={({ currentTarget }) => {
          clearTimeout(timer.current);
          set(currentTarget.value);
        }}
      />
      {list && (
        <datalist id={`${name}-list`}>
          {list.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
}

export function Choices({ name, label, options }: { name: string; label: string; options: readonly (readonly [value: string, word: string, count?: string])[] }) {
  const value = chosen(name).value;
  return (
    <div class="segments wide" role="group" aria-label={label}>
      {options.map(([option, word, n]) => (
        <button key={option} type="button" aria-pressed={value === option} data-testid={`${name}-${option || 'all'}`} onClick={() => filter({ [name]: option })}>
          {word} {n !== undefined && <span class="soft">{n}</span>}
        </button>
      ))}
    </div>
  );
}
