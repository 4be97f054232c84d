import { useEffect, useRef } from 'preact/hooks';
import { Find } from '../shared/find';
import { openItems } from '../shared/seen';
import { age, moment } from '../shared/model/format';
import { frozen, helpOpen, paletteOpen, paused, setPaused, shortcuts, slow, store, viewNow } from '../shared/page';
import { pageOf, PAGES, railOf, tabsOf, tabTitle, type Page } from '../shared/model/pages';
import { address, chosen, follow, go, page, subject } from '../shared/route';
import { heading, kind, trail } from './heading';
import { session, signOut } from '../shared/session';

export function Header() {
  useShortcuts();
  const { path, title, find: wanted, range } = page.value;
  slow.value;
  const alerts = openItems().length;
  useEffect(() => {
    document.title = tabTitle(page.value, heading.value, alerts);
  }, [path, heading.value, alerts]);
  const top = useRef<HTMLHeadingElement>(null);
  const moved = useRef(false);
  // After navigation, screen readers read the heading, and Tab goes on from the heading.
  useEffect(() => {
    if (moved.current) top.current!.focus({ preventScroll: true });
    moved.current = true;
  }, [path, subject.value]);
  return (
    <header class="top">
      <Above />
      <h1 ref={top} tabIndex={-1}>
        {kind.value || title}
        {heading.value && (
          <>
            {' '}
            <bdi class="clip" title={heading.value}>
              {heading.value}
            </bdi>
          </>
        )}
      </h1>
      {path === '/now' && <Uptime />}
      {wanted && !range ? <Find words={wanted} /> : <span class="find" />}
      <button type="button" data-testid="pause" aria-pressed={paused.value} onClick={() => setPaused(!paused.value)}>
        {paused.value ? 'Resume' : 'Pause'} {shortcuts.value && <kbd aria-hidden="true">p</kbd>}
      </button>
      <Who />
      <button type="button" class="round" aria-label="Help" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
      <Tabs />
    </header>
  );
}

// Links to the other pages of the same entry of the rail. A search stays on its page, except where the pages have a time range.
function Tabs() {
  const tabs = tabsOf(page.value);
  if (tabs.length === 0) return null;
  const kept = page.value.range ? Object.fromEntries(['q', 'from', 'to'].map((name) => [name, chosen(name).value])) : {};
  return (
    <nav class="tabs" aria-label={`Pages of ${pageOf(railOf(page.value)).rail}`}>
      {tabs.map(({ path, tab }: Page) => (
        <a key={path} href={address(path, kept)} aria-current={path === page.value.path ? 'page' : undefined} onClick={follow}>
          {tab}
        </a>
      ))}
    </nav>
  );
}

function Above() {
  const above = railOf(page.value);
  if (above === page.value.path || page.value.tab) return null;
  return (
    <nav class="above" aria-label="Breadcrumbs">
      {[{ title: pageOf(above).rail, href: address(above) }, ...trail.value].map(({ title, href }) => (
        <>
          <a href={href} class="clip" title={title} onClick={follow}>
            <bdi>{title}</bdi>
          </a>{' '}
          <span aria-hidden="true">›</span>{' '}
        </>
      ))}
    </nav>
  );
}

function Who() {
  const who = session.value;
  if (!who?.required || !who.id) return null;
  return (
    <>
      <span class="note who" title={`Signed in as ${who.id}, ${who.role}`}>
        <bdi>{who.id}</bdi>, {who.role}
      </span>
      <button type="button" data-testid="sign-out" onClick={() => void signOut()}>
        Sign out
      </button>
    </>
  );
}

function Uptime() {
  slow.value;
  const { counters, hello } = store;
  if (!hello) return <p class="note">waiting for the server…</p>;
  // The counters are valid at the time serverNow.
  const up = counters ? counters.uptime_ms + (frozen.value ? 0 : viewNow() - store.serverNow) : 0;
  return (
    <p class="note" title={counters ? `since ${moment(store.serverNow - counters.uptime_ms)}` : ''}>
      {counters && `up ${age(up)} · `}incarnation <code title={hello.boot}>{hello.boot.slice(0, 8)}</code> · {hello.version}
    </p>
  );
}

// Shortcuts are inactive while the user types.
function useShortcuts(): void {
  useEffect(() => {
    let going = -Infinity; // time at which "g" was pressed
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        if (!document.querySelector('dialog[open]')) paletteOpen.value = true;
        return event.preventDefault();
      }
      if (!shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
      const to = PAGES.find((p) => 'key' in p && p.key === event.key);
      if (to && performance.now() - going < 1000) go(address(to.path));
      else if (event.key === 'g') going = performance.now();
      else if (event.key === '/') document.querySelector<HTMLInputElement>('.find input')?.focus();
      else if (event.key === 'p') setPaused(!paused.value);
      else if (event.key === '?') helpOpen.value = true;
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
