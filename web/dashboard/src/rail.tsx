import { clock, count } from './format';
import { ConnectionLine } from './connection';
import { paused, slow, store } from './page';
import { setTheme, theme, THEMES } from './theme';

export function Rail() {
  slow.value;
  const cluster = store.hello?.cluster;
  return (
    <nav class="rail" aria-label="Pages">
      <div class="rail-in">
      <div class="brand">
        <img src="/icon.svg" alt="" width="26" height="26" />
        <div>
          <b>Muster</b>
          <span>{cluster ?? 'cluster coordinator'}</span>
        </div>
      </div>
      <ul>
        <li>
          <a href="/" aria-current="page">
            Overview
          </a>
        </li>
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
