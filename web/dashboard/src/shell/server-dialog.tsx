// Loaded when the dialog is first opened.

import { useEffect, useRef } from 'preact/hooks';
import { age, plural } from '../shared/model/format';
import type { Shape } from '../shared/model/shape';
import { serverOpen, store } from '../shared/page';
import { Chip, Mark } from '../shared/shape';
import { rowsOf, type Row } from './model/server-advice';
import { SUMMARY, worst, type Level } from './model/server-health';
import { serverHealth, useServerHealth } from './server-dot';

const EVERY_MS = 2000;
const SHAPES: Record<Level, Shape> = { ok: 'connected', warn: 'late', bad: 'error' };
const STATES: Record<Level, string> = { ok: 'normal', warn: 'high', bad: 'too high' };

function Figure({ figure, name, level, value, detail, normal, advice }: Row) {
  return (
    <div data-testid="server-figure" data-figure={figure} data-level={level ?? 'none'}>
      <dt>
        <Mark shape={level ? SHAPES[level] : 'waiting'} /> {name} {level && <span class="unseen">{STATES[level]}</span>}
      </dt>
      <dd>
        <b data-testid="server-value">{value}</b> {detail && <bdi class="soft">{detail}</bdi>}
        <p class="soft">{normal}</p>
        {level && level !== 'ok' && <p data-testid="server-advice">{advice}</p>}
      </dd>
    </div>
  );
}

export function ServerDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const { problem } = useServerHealth(EVERY_MS);
  const health = serverHealth.value;
  const rows = health ? rowsOf(health) : [];
  const high = rows.filter(({ level }) => level && level !== 'ok');
  const level = health && worst(health);
  useEffect(() => dialog.current!.showModal(), []);
  const close = () => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="help server"
      aria-labelledby="server-title"
      data-testid="server-dialog"
      onClose={() => (serverOpen.value = false)}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <h2 id="server-title" tabIndex={-1} autoFocus>
        Server
      </h2>
      {level && (
        <p data-testid="server-verdict" data-level={level}>
          <Chip shape={SHAPES[level]}>{SUMMARY[level]}</Chip>{' '}
          {level === 'ok' ? 'All figures of the last minute are normal.' : `${plural(high.length, 'figure')} outside the normal range: ${high.map(({ name }) => name.toLowerCase()).join(', ')}.`}
        </p>
      )}
      {problem && (
        <p role="alert">
          The figures could not be read: <bdi>{problem}</bdi>
        </p>
      )}
      {health && (
        <>
          <p class="soft">
            Version <bdi>{health.version}</bdi>, up {age(health.uptime_ms)}
            {store.hello && (
              <>
                , incarnation <code>{store.hello.boot.slice(0, 8)}</code>
              </>
            )}
          </p>
          <dl>
            {rows.map((row) => (
              <Figure key={row.figure} {...row} />
            ))}
          </dl>
        </>
      )}
      {!health && !problem && <p class="soft">Reading the figures…</p>}
      <p class="soft">
        The same figures are in <a href="/metrics">/metrics</a> and <a href="/api/v1/server/health">/api/v1/server/health</a>.
      </p>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
