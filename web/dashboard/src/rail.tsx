import { session } from './access/session';
import { clock, count, short } from './model/format';
import { ConnectionLine } from './connection';
import { taskTotals } from './model/map-groups';
import { cluster, paused, slow, store } from './page';
import { PAGES, railOf, type Path } from './model/pages';
import { address, follow, page, picked } from './route';
import { setTheme, theme, THEMES } from './theme';

// How many there are; red what is in error, amber what waits.
function Badge({ path }: { path: Path }) {
  slow.value;
  const of = cluster();
  const tasks = store.counters && taskTotals(store.counters.tasks, store.clusters.all());
  if (path === '/tasks' && tasks && tasks.error > 0) return <b class="badge is-bad">{short(tasks.error)}</b>;
  if (path === '/tasks' && tasks && tasks.total > 0) return <span class="badge">{short(tasks.total)}</span>;
  const running = store.counters?.jobs.running ?? 0;
  if (path === '/jobs' && running > 0) return <span class="badge">{short(running)}</span>;
  if (path === '/barriers' && of && of.barriers > 0) return <b class="badge is-late">{short(of.barriers)}</b>;
  if (path === '/kv' && of && of.keys > 0) return <span class="badge">{short(of.keys)}</span>;
  return null;
}

export function Rail() {
  slow.value;
  const lit = railOf(page.value);
  return (
    <nav class="rail" aria-label="Pages">
      <div class="rail-in">
      <div class="brand">
        <img src="/icon.svg" alt="" width="26" height="26" />
        <div>
          <b>Muster</b>
          <span class="clip">
            <bdi>{picked.value || session.value?.clusters?.join(', ') || store.hello?.cluster || 'cluster coordinator'}</bdi>
          </span>
        </div>
      </div>
      <ul>
        {PAGES.map(
          (p) =>
            'rail' in p && (
              <li key={p.path}>
                <a href={address(p.path)} aria-current={lit !== p.path ? undefined : page.value.path === p.path ? 'page' : 'true'} onClick={follow}>
                  {p.rail} <Badge path={p.path} />
                </a>
              </li>
            ),
        )}
      </ul>
      <div class="rail-foot">
        <ConnectionLine />
        <p class="note">
          <span>update {count(store.updates)}</span>
          <span>{store.serverNow > 0 ? `server time ${clock(store.serverNow)}` : 'no data yet'}{paused.value && ' (held)'}</span>
        </p>
        <div class="segments" role="group" aria-label="Theme">
          {THEMES.map((choice) => (
            <button key={choice} type="button" data-testid={`theme-${choice}`} aria-pressed={theme.value === choice} onClick={() => setTheme(choice)}>
              {choice}
            </button>
          ))}
        </div>
      </div>
      </div>
    </nav>
  );
}
