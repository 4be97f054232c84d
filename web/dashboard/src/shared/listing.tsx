// A list that the server sends in pages. The address contains the page, filter and order.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLooked, type Looked } from './looked';
import { countLine, one, readOn, type Listing, type Page } from './model/listing';
import { get } from './rest';
import { addressNow, choose, chosen, follow, page } from './route';
import { forgetFilter, isSaved, savedFilters, saveFilter } from './saved';
import { Grid, type GridProps, type Sorting } from './grid';
import { Panel } from './panel';
import { Segments, type Option } from './segments';

const SAVED_SHOWN = 6;

interface Body {
  next_page_token?: string;
  looked_at?: number;
  of?: number;
}

interface Options {
  every?: number;
  over?(): boolean;
  heard?(body: never): void; // called with the whole response body
}

// `path` excludes the page token; an empty path sends no request. `rows` is the response field with the rows.
export function useListing<Row>(path: string, limit: number, rows: string, { every = 2000, over = () => false, heard }: Options = {}): Looked<Listing<Row>> {
  const token = chosen('page').value;
  const join = path.includes('?') ? '&' : '?';
  const read = (from: string) =>
    readOn<Row>(limit, token, async (next) => {
      const page = next ? `&page_token=${encodeURIComponent(next)}` : '';
      const body = await get<Body & Record<string, unknown>>(`${from}${page}`);
      heard?.(body as never);
      return { rows: body[rows] as Row[], next: body.next_page_token ?? '', lookedAt: body.looked_at ?? 0, of: body.of ?? 0 } satisfies Page<Row>;
    });
  const asked = path && `${path}${join}limit=${limit}`;
  // The token distinguishes the requests of different pages, although `read` adds it again.
  return useLooked<Listing<Row>>(asked && `${asked}#${token}`, { every, over, keep: true, read: (question) => read(question.slice(0, question.lastIndexOf('#'))) });
}

export const filters = (names: readonly string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, chosen(name).value.trim()]));

interface ListProps<Row> extends Omit<GridProps<Row>, 'rows' | 'old' | 'empty' | 'chosen' | 'choose'>, Partial<Pick<GridProps<Row>, 'empty' | 'chosen' | 'choose'>> {
  title: string;
  note?: string;
  what: string; // plural noun for the rows
  filters: readonly string[]; // parameter names in the address
  looked: Looked<Listing<Row>>;
  none: ComponentChildren; // content if there are no rows at all
  below?: ComponentChildren;
  children: ComponentChildren;
}

export function ListPanel<Row>({ title, note, what, filters: names, looked, none, below, children, ...grid }: ListProps<Row>) {
  const row = useSignal<string | null>(null);
  const filtered = Object.values(filters(names)).some(Boolean);
  const { value } = looked;
  const empty = !value ? (looked.problem ? '–' : 'Loading…') : value.next ? 'None on this page; go to the next page to continue.' : filtered ? `No ${one(what)} matches.` : none;
  return (
    <Panel id={grid.id} title={title} note={note} span={12}>
      <Filters names={names} problem={looked.problem}>
        {children}
      </Filters>
      <Grid chosen={row.value} choose={(name) => (row.value = name)} empty={empty} {...grid} rows={value?.rows ?? []} old={looked.stale} />
      <Pages looked={looked} what={what} filtered={filtered} />
      {below}
    </Panel>
  );
}

// Returns the list to its first page.
export function filter(changes: Readonly<Record<string, string>>, how: 'push' | 'replace' = 'push'): void {
  choose({ ...changes, page: '', at: '' }, how);
}

export type ListSorting = Sorting & { asked: Record<string, string> };
export function useSorting(usual: string): ListSorting {
  const by = chosen('sort').value || usual;
  const descending = chosen('order').value === 'desc';
  const sort = (next: string, down: boolean) => filter({ sort: next === usual ? '' : next, order: down ? 'desc' : '' });
  return { by, descending, sort, asked: by !== usual || descending ? { sort: by, order: descending ? 'desc' : 'asc' } : {} };
}

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

export function SavedHere() {
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

// Ctrl-K finds a saved filter by its page and parameters.
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

export function Pages<Row>({ looked, what, filtered }: { looked: Looked<Listing<Row>>; what: string; filtered: boolean }) {
  const listing = looked.value;
  if (!listing) return null;
  const at = Number(chosen('at').value) || 0;
  const later = chosen('page').value !== '';
  return (
    <div class="pages">
      <span data-testid="count-line" role="status">
        {looked.stale ? 'Searching…' : countLine(listing, at, what, filtered)}
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

// The filter is applied after a pause in typing.
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

export function Choices({ name, label, options }: { name: string; label: string; options: readonly Option<string>[] }) {
  return <Segments wide label={label} options={options} now={chosen(name).value} testid={name} choose={(value) => filter({ [name]: value })} />;
}
