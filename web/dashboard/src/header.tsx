import { useEffect, useRef } from 'preact/hooks';
import { ClusterPicker } from './cluster-picker';
import { age, moment } from './model/format';
import { frozen, helpOpen, paused, query, setPaused, setQuery, shortcuts, slow, store, viewNow } from './page';
import { address, go, page, PAGES } from './route';

const FIND = {
  '/': 'Find a task, host or incarnation',
  '/tasks': 'Find a task, host or incarnation',
  '/jobs': 'Find in the log',
  '/barriers': 'Find a barrier',
  '/kv': 'Find a key in this folder',
  '/events': 'Find in the events',
} as const;

export function Header() {
  const find = useRef<HTMLInputElement>(null);
  useShortcuts(find);
  return (
    <header class="top">
      <h1>{page.value.title}</h1>
      {page.value.path === '/' ? <Uptime /> : !['/events', '/jobs'].includes(page.value.path) && <ClusterPicker />}
      <label class="find">
        <span class="unseen">{FIND[page.value.path]}</span>
        <input
          ref={find}
          type="search"
          placeholder={FIND[page.value.path]}
          value={query.value}
          onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            setQuery('');
            event.currentTarget.blur();
          }}
        />
        {shortcuts.value && <kbd aria-hidden="true">/</kbd>}
      </label>
      <button type="button" data-testid="pause" aria-pressed={paused.value} onClick={() => setPaused(!paused.value)}>
        {paused.value ? 'Resume' : 'Pause'} {shortcuts.value && <kbd aria-hidden="true">p</kbd>}
      </button>
      <button type="button" class="round" aria-label="Help" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
    </header>
  );
}

function Uptime() {
  slow.value;
  const { counters, hello } = store;
  if (!hello) return <p class="note">waiting for the server…</p>;
  // Uptime is in the counters, of the same moment as serverNow.
  const up = counters ? counters.uptime_ms + (frozen.value ? 0 : viewNow() - store.serverNow) : 0;
  return (
    <p class="note" title={counters ? `since ${moment(store.serverNow - counters.uptime_ms)}` : ''}>
      {counters && `up ${age(up)} · `}incarnation <code title={hello.boot}>{hello.boot.slice(0, 8)}</code> · {hello.version}
    </p>
  );
}

// Single letters, unless one is typing; they can be turned off in the help.
function useShortcuts(find: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    let going = -Infinity; // when "g" was pressed: the next letter names a page
    const onKey = (event: KeyboardEvent) => {
      if (!shortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement || helpOpen.value) return;
      const to = PAGES.find((p) => p.key === event.key);
      if (to && performance.now() - going < 1000) go(address(to.path));
      else if (event.key === 'g') going = performance.now();
      else if (event.key === '/') find.current?.focus();
      else if (event.key === 'p') setPaused(!paused.value);
      else if (event.key === '?') helpOpen.value = true;
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
