// Per-worker values: which worker has its part, which has none, and why; by value or by worker.

import { useSignal } from '@preact/signals';
import { age, count, plural, shortId } from '../model/format';
import { byWorker, ready, standing, worstFirst } from '../model/rest/per-worker';
import { failureLine } from '../model/rest/closures';
import type { PerWorkerView } from '../model/rest/views';
import { Action } from '../parts/action';
import { Bar } from '../parts/bar';
import { Pages, useListing } from '../parts/listing';
import { Panel } from '../parts/panel';
import { Mark } from '../parts/shape';
import { Ago } from '../parts/when';
import { clusterQuery, query, slow, viewNow } from '../page';
import { api, send } from '../rest';
import { choose, chosen, follow, jobAddress, workerAddress } from '../route';

const SHOWN = 24;
const SHAPES = { READY: 'connected', NOT_READY: 'waiting', ABORTED: 'error' } as const;

export function PerWorkerPage() {
  slow.value;
  const wanted = query.value.trim().toLowerCase();
  const by = chosen('by').value === 'worker' ? 'worker' : 'value';
  const looked = useListing<PerWorkerView>(api('per_worker_values', { cluster: clusterQuery.value }), 100, { rows: (body: { per_worker_values: PerWorkerView[] }) => body.per_worker_values });
  const all = looked.value?.rows ?? [];
  const fit = all.filter((v) => !wanted || [v.name, v.function, v.id].some((text) => text.toLowerCase().includes(wanted)));
  const aside = (
    <div class="segments" role="group" aria-label="Group">
      {(['value', 'worker'] as const).map((choice) => (
        <button key={choice} type="button" aria-pressed={by === choice} data-testid={`by-${choice}`} onClick={() => choose({ by: choice === 'value' ? '' : choice })}>
          by {choice}
        </button>
      ))}
    </div>
  );
  return (
    <div class="panels">
      <Panel id="per-worker" title="Per-worker values" note="built once on each worker, kept there" span={12} aside={aside}>
        {looked.problem && <p class="calm text-error">{looked.problem}</p>}
        {looked.value && fit.length === 0 && (
          <p class="calm">
            {wanted ? (
              'None fits.'
            ) : (
              <>
                No per-worker value. Each worker builds one of its own, a table or a connection, and keeps it: <code class="wrap">muster per-worker create FUNCTION</code>
              </>
            )}
          </p>
        )}
        {by === 'value' ? fit.map((v) => <Value key={v.id} v={v} again={looked.again} />) : <ByWorker all={fit} />}
        <Pages looked={looked} what="per-worker values" filtered={false} />
      </Panel>
    </div>
  );
}

function Value({ v, again }: { v: PerWorkerView; again(): void }) {
  const open = useSignal(false);
  const parts = worstFirst(v.components);
  const shown = open.value ? parts : parts.slice(0, SHOWN);
  const n = ready(v);
  const failed = v.components.filter((c) => c.status === 'ABORTED');
  return (
    <div class="progress barrier" data-testid="per-worker-value" data-id={v.id}>
      <div class="progress-head">
        <b class="mono wrap">
          <bdi>{v.name || v.function}</bdi>
        </b>
        <span>
          {count(n)} of {plural(v.components.length, 'worker')} ready
          {failed.length > 0 && <b class="text-error"> · {count(failed.length)} failed</b>}
        </span>
      </div>
      <Bar
        parts={[
          { kind: 'ready', n },
          { kind: 'failed', n: failed.length },
        ]}
        total={v.components.length}
      />
      <p class="progress-foot">
        <code>{v.id}</code>
        {v.name && <bdi class="mono">{v.function}</bdi>}
        <span>
          made <Ago ms={v.created_ms} />
        </span>
        <span>{plural(v.users, 'closure')} need it</span>
        {v.job && (
          <a href={jobAddress(v.job)} onClick={follow} title={v.job}>
            {shortId(v.job)}
          </a>
        )}
        {v.released && <span>released</span>}
      </p>
      <ul class="names">
        {shown.map((c) => (
          <li key={c.task} title={c.error?.message}>
            <span class={`chip ${c.status === 'ABORTED' ? 'text-error' : ''}`}>
              <Mark shape={SHAPES[c.status]} />
              <a class="mono" href={workerAddress(c.task)} onClick={follow}>
                <bdi>{c.task}</bdi>
              </a>
            </span>{' '}
            {c.status !== 'READY' && (
              <span class="soft">
                <bdi>{standing(c)}</bdi> for {age(viewNow() - c.since_ms)}
                {c.error && (
                  <>
                    : <bdi>{failureLine(c.error)}</bdi>
                  </>
                )}
              </span>
            )}
          </li>
        ))}
        {parts.length > shown.length && (
          <li class="rest">
            <button type="button" class="plain" onClick={() => (open.value = true)}>
              and {count(parts.length - shown.length)} more
            </button>
          </li>
        )}
      </ul>
      {!v.released && !v.job && (
        <p class="progress-foot">
          <Action
            testid="release-per-worker"
            label="Release"
            title="Release this per-worker value?"
            yes="Release it"
            danger
            run={async () => {
              await send('DELETE', api(`per_worker_values/${encodeURIComponent(v.id)}`));
              again();
            }}
            done="It was released."
          >
            <p>Workers drop it when no closure needs it any more; {plural(v.users, 'closure')} need it now.</p>
          </Action>
        </p>
      )}
    </div>
  );
}

function ByWorker({ all }: { all: readonly PerWorkerView[] }) {
  return (
    <table class="table" data-testid="by-worker-table">
      <thead>
        <tr>
          <th scope="col">Worker</th>
          <th scope="col">Has</th>
          <th scope="col">Has not</th>
        </tr>
      </thead>
      <tbody>
        {byWorker(all).map(({ task, has, lacks }) => (
          <tr key={task}>
            <td>
              <a class="mono" href={workerAddress(task)} onClick={follow}>
                <bdi>{task}</bdi>
              </a>
            </td>
            <td class="wrap">
              <bdi>{has.join(', ') || '–'}</bdi>
            </td>
            <td class="wrap">
              {lacks.length === 0
                ? '–'
                : lacks.map(({ name, status, standing, why }) => (
                    <p key={name} class={status === 'ABORTED' ? 'text-error' : 'soft'}>
                      <bdi>{name}</bdi>: <bdi>{standing}</bdi>
                      {why && (
                        <>
                          , <bdi>{why}</bdi>
                        </>
                      )}
                    </p>
                  ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
