import { Bar } from './bar';
import { bytes, count, percent, plural } from './model/format';
import { slow, store } from './page';
import { Panel } from './panel';
import type { Shape } from './model/shape';
import { Mark } from './shape';

export function Values() {
  slow.value;
  const values = store.counters?.remote_values;
  const total = values ? values.ready + values.not_ready + values.aborted : 0;
  const rows: { shape: Shape; word: string; code: string; n: number | undefined; testid: string }[] = [
    { shape: 'connected', word: 'Ready', code: 'READY', n: values && values.ready - (values.errors ?? 0), testid: 'values-ready' },
    { shape: 'error', word: 'Error', code: 'READY', n: values && (values.errors ?? 0), testid: 'values-errors' },
    { shape: 'waiting', word: 'Not ready', code: 'NOT_READY', n: values?.not_ready, testid: 'values-not-ready' },
    { shape: 'error', word: 'Aborted', code: 'ABORTED', n: values?.aborted, testid: 'values-aborted' },
  ];
  return (
    <Panel id="values" title="Remote values" span={4} aside={values && <span class="note">{count(total)} in total</span>}>
      <Bar
        parts={[
          { kind: 'ready', n: values ? values.ready - (values.errors ?? 0) : 0 },
          { kind: 'waiting', n: values?.not_ready ?? 0 },
          { kind: 'error', n: values ? values.aborted + (values.errors ?? 0) : 0 },
        ]}
        total={total}
      />
      <dl class="facts">
        {rows.map((row) => (
          <div key={row.word} class={row.shape === 'error' && row.n ? 'text-error' : ''}>
            <dt>
              <Mark shape={row.shape} /> {row.word} <code>{row.code}</code>
            </dt>
            <dd>
              <span class="share">{total > 0 && percent(row.n ?? 0, total)}</span>
              <b data-testid={row.testid}>{row.n === undefined ? '–' : count(row.n)}</b>
            </dd>
          </div>
        ))}
      </dl>
      <p class="foot">
        {!values || total === 0
          ? 'A value appears here when a closure is scheduled.'
          : values.held > 0
            ? `${plural(values.held, 'value')} stored on this server, ${bytes(values.held_bytes)}`
            : 'No values are stored on this server.'}
      </p>
    </Panel>
  );
}
