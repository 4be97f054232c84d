import { openItems } from '../shared/seen';
import { clock, count, short, zoneOf } from '../shared/model/format';
import { Icon } from './icons';
import { ConnectionLine } from './connection';
import { taskTotals } from '../shared/model/map-groups';
import { cluster, paletteOpen, paused, slow, store } from '../shared/page';
import { PAGES, railOf, type Path } from '../shared/model/pages';
import { address, follow, page, picked } from '../shared/route';
import { session } from '../shared/session';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Segments } from '../shared/segments';
import { ClusterSwitch } from './cluster-switch';
import { ServerDot } from './server-dot';
import { setZone, zone, ZONES } from '../shared/zone';
import { setTheme, theme, THEMES } from '../shared/theme';

// The badge is red for errors and amber for waiting entries.
function Badge({ path }: { path: Path }) {
  slow.value;
  const of = cluster();
  const tasks = store.counters && taskTotals(store.counters.tasks, store.clusters.all());
  const about = (rules: RegExp) => openItems().filter(({ rule }) => rules.test(rule));
  // The badge is red while an alert is open.
  const programs = about(/^programs?-(failed|hangs?)$/).reduce((sum, row) => sum + row.count, 0);
  const jobs = about(/^(job|session)s?-failed$/).length > 0 ? (of?.failed_jobs ?? 0) : 0;
  if (path === '/work' && programs + jobs > 0)
    return (
      <b class="badge is-bad" data-testid="rail-failed" title="jobs and sessions that failed, and programs that failed or hang">
        {short(programs + jobs)}
      </b>
    );
  if (path === '/fleet' && tasks && tasks.error > 0) return <b class="badge is-bad">{short(tasks.error)}</b>;
  if (path === '/fleet' && tasks && tasks.total > 0) return <span class="badge">{short(tasks.total)}</span>;
  const counted = store.counters?.jobs;
  const unfinished = counted ? (counted.queued ?? 0) + counted.running : 0;
  if (path === '/work' && unfinished > 0) return <span class="badge">{short(unfinished)}</span>;
  if (path === '/agreement' && of && of.barriers > 0) return <b class="badge is-late">{short(of.barriers)}</b>;
  return null;
}

function Entries() {
  const lit = railOf(page.value);
  return (
    <ul>
      {PAGES.map(
        (p) =>
          'rail' in p && (
            <li key={p.path}>
              <a href={address(p.path)} aria-current={lit !== p.path ? undefined : page.value.path === p.path ? 'page' : 'true'} onClick={follow}>
                <Icon of={p.path} /> {p.rail} <Badge path={p.path} />
              </a>
            </li>
          ),
      )}
    </ul>
  );
}

export function Rail() {
  slow.value;
  const open = useSignal(false); // whether the menu is open, on a phone
  useEffect(() => {
    open.value = false;
  }, [page.value.path]);
  return (
    <nav class={`rail${open.value ? ' is-open' : ''}`} aria-label="Pages">
      <div class="rail-in">
        <div class="brand">
          <ServerDot>
            <b>Muster</b>
            <span class="clip">
              <bdi>{picked.value || session.value?.clusters?.join(', ') || store.hello?.cluster || 'cluster coordinator'}</bdi>
            </span>
          </ServerDot>
          <button type="button" class="rail-find" data-testid="find-anything" aria-haspopup="dialog" onClick={() => (paletteOpen.value = true)}>
            Find anything <kbd aria-hidden="true">Ctrl K</kbd>
          </button>
          <button type="button" class="rail-menu" data-testid="menu" aria-expanded={open.value} aria-controls="rail-pages" onClick={() => (open.value = !open.value)}>
            Menu
          </button>
        </div>
        <div class="rail-pages" id="rail-pages">
          <ClusterSwitch />
          <Entries />
          <div class="rail-foot">
            <p class="note">
              <span title={`update ${count(store.updates)}`}>
                {store.serverNow > 0 ? `server time ${clock(store.serverNow)} ${zoneOf(store.serverNow)}` : 'no data yet'}
                {paused.value && ' (held)'}
              </span>
            </p>
            <Segments label="Theme" options={THEMES.map((each) => [each, each])} now={theme.value} testid="theme" choose={setTheme} />
            <Segments label="Time zone" options={ZONES.map((each) => [each, each === 'UTC' ? each : 'local time'])} now={zone.value} testid="zone" choose={setZone} />
          </div>
        </div>
        <ConnectionLine />
      </div>
    </nav>
  );
}
