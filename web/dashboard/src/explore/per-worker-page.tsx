import { useSignal } from '@preact/signals';
import { age, count, plural } from '../shared/model/format';
import { byWorker, ready, standing, worstFirst } from './model/per-worker';
import { failureLine } from '../shared/model/closures';
import type { PerWorkerView } from '../shared/model/views';
import { Action } from '../shared/action';
import { Bar } from '../shared/bar';
import { JobLink, WorkerLink } from '../shared/link';
import { Pages, Problem, useListing } from '../shared/listing';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';
import { Chip } from '../shared/shape';
import { Table } from '../shared/table';
import { More } from '../shared/text';
import { Ago } from '../shared/when';
import { clusterQuery, query, slow, viewNow } from '../shared/page';
import { api, send } from '../shared/rest';
import { choose, chosen } from '../shared/route';
import { ExploreBar } from './bar';
import { Teach } from '../shared/teach';

const SHOWN = 24;
const SHAPES = { READY: 'connected', NOT_READY: 'waiting', ABORTED: 'error' } as const;

export function PerWorkerPage() {
  slow.value;
  const wanted = query.value.trim().toLowerCase();
  const by = chosen('by').value === 'worker' ? 'worker' : 'value';
  const looked = useListing<PerWorkerView>(api('per_worker_values', { cluster: clusterQuery.value }), 100, 'per_worker_values');
  const all = looked.value?.rows ?? [];
  const fit = all.filter((v) => !wanted || [v.name, v.function, v.id].some((text) => text.toLowerCase().includes(wanted)));
  const aside = (
    <Segments
      label="Group"
      options={[
        ['value', 'by value'],
        ['worker', 'by worker'],
      ]}
      now={by}
      testid="by"
      choose={(choice) => choose({ by: choice === 'value' ? '' : choice })}
    />
  );
  return (
    <div class="panels">
      <ExploreBar why="Per-worker values are shown as they are now; the time range does not apply." />
      <Panel id="per-worker" title="Per-worker values" note="built once on each worker and kept there" span={12} aside={aside}>
        <Problem text={looked.problem} />
        {looked.value && fit.length === 0 && (
          <div class="calm">
            {wanted ? (
              'No per-worker value matches.'
            ) : (
              <>
                No per-worker values. Each worker builds its own value, such as a table or a connection, and keeps it:
                <Teach lines={'with muster.ClusterCoordinator("HOST:PORT") as c:\n    table = c.create_per_worker_value(load_table)\n    c.submit(predict, table, 41).fetch()'} />
              </>
            )}
          </div>
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
        <span>needed by {plural(v.users, 'closure')}</span>
        {v.job && <JobLink id={v.job} />}
        {v.released && <span>released</span>}
      </p>
      <ul class="names">
        {shown.map((c) => (
          <li key={c.task} title={c.error?.message}>
            <Chip shape={SHAPES[c.status]} colour={c.status === 'ABORTED' ? 'text-error' : ''}>
              <WorkerLink task={c.task} />
            </Chip>{' '}
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
        <More n={parts.length - shown.length} show={() => (open.value = true)} />
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
            done="The per-worker value was released."
          >
            <p>
              Workers will delete it when no closure needs it. Currently {plural(v.users, 'closure')} {v.users === 1 ? 'needs' : 'need'} it.
            </p>
          </Action>
        </p>
      )}
    </div>
  );
}

function ByWorker({ all }: { all: readonly PerWorkerView[] }) {
  return (
    <Table heads={['Worker', 'Built', 'Not built']} testid="by-worker-table">
      {byWorker(all).map(({ task, has, lacks }) => (
        <tr key={task}>
          <td>
            <WorkerLink task={task} />
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
    </Table>
  );
}
