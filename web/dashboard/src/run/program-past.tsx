import { useSignal } from '@preact/signals';
import { count, moment, pairs, plural, span } from '../shared/model/format';
import { seenText, type AttemptDetail } from './model/attempt';
import { commandLine } from '../shared/model/commands';
import { resourcesOf, type AttemptView, type ProgramView } from '../shared/model/programs';
import { Fact, Metadata, TextFact } from '../shared/fact';
import { Panel } from '../shared/panel';
import { Table } from '../shared/table';
import { Ago, Span } from '../shared/when';
import { useLooked } from '../shared/looked';
import { api } from '../shared/rest';
import { lookedAt } from '../shared/range';

const ENDS: Record<AttemptView['end'], string> = {
  NONE: 'running',
  SUCCEEDED: 'succeeded',
  FAILED: 'a rank failed',
  LOST: 'a worker was lost',
  CANCELLED: 'was stopped',
  PREEMPTED: 'a worker left after a step',
  HUNG: 'hung',
};

export function Attempts({ program, all }: { program: string; all: readonly AttemptView[] }) {
  const looked = useSignal(0); // selected attempt; 0 if none is selected
  const range = lookedAt();
  const shown = range ? all.filter((a) => a.begun_ms <= range.to && (a.ended_ms ?? Infinity) >= range.from) : all;
  return (
    <Panel id="attempts" title="Attempts" note="newest first" span={8}>
      {all.length === 0 ? (
        <p class="calm">None yet.</p>
      ) : (
        <div class="scrolls" tabIndex={0} role="region" aria-label="Table of attempts">
          <Table heads={['Attempt', 'Outcome', 'Size', 'Hosts', 'Began', 'Took', 'Cause', 'Record']} kind="fits" testid="attempts">
            {[...shown].reverse().map((a) => (
              <tr key={a.attempt} data-testid="attempt" data-end={a.end}>
                <td>{a.attempt}</td>
                <td class={a.end === 'FAILED' || a.end === 'LOST' || a.end === 'HUNG' ? 'text-error' : ''}>{ENDS[a.end] ?? a.end}</td>
                <td>{plural(a.ranks, 'rank')}</td>
                <td>{plural(a.hosts, 'host')}</td>
                <td>
                  <span title={a.running_ms ? `all ranks had started ${moment(a.running_ms)}` : undefined}>
                    <Ago ms={a.begun_ms} />
                  </span>
                </td>
                <td>
                  <Span from={a.begun_ms} to={a.ended_ms ?? 0} />
                </td>
                <td class="wrap">
                  <bdi>{a.cause?.text ?? ''}</bdi>
                </td>
                <td>
                  <button
                    type="button"
                    aria-expanded={looked.value === a.attempt}
                    aria-label={`Record of attempt ${a.attempt}`}
                    data-testid="look-at-attempt"
                    onClick={() => (looked.value = looked.value === a.attempt ? 0 : a.attempt)}
                  >
                    {looked.value === a.attempt ? 'Hide' : 'Show'}
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        </div>
      )}
      {shown.length < all.length && <p class="foot">{plural(all.length - shown.length, 'attempt is', 'attempts are')} outside the range of the timeline.</p>}
      {looked.value > 0 && <Seen program={program} attempt={looked.value} />}
    </Panel>
  );
}

function Seen({ program, attempt }: { program: string; attempt: number }) {
  const seen = useLooked<AttemptDetail>(api(`programs/${encodeURIComponent(program)}/attempts/${attempt}`), { over: (a) => a.end !== 'NONE' });
  if (!seen.value) return <p class="calm">{seen.problem || 'Loading…'}</p>;
  const text = seenText(seen.value);
  return text ? (
    <pre class="log stack mono" tabIndex={0} role="region" aria-label={`Record of attempt ${attempt}`} data-testid="seen-of-attempt">
      <bdi>{text}</bdi>
    </pre>
  ) : (
    <p class="calm">Attempt {attempt} has no record yet.</p>
  );
}

export function Spec({ p }: { p: ProgramView }) {
  return (
    <Panel id="spec" title="Submission" span={4}>
      <div data-testid="spec">
        <pre class="log mono stderr" tabIndex={0} role="region" aria-label="Command">
          <bdi>{commandLine(p.command)}</bdi>
        </pre>
        <dl class="facts-line">
          {Object.entries(p.tasks).map(([type, t]) => (
            <Fact key={type} name={type}>
              {t.min === t.max ? count(t.min) : `${count(t.min)} to ${count(t.max)}`}
              {t.resources && ` × ${resourcesOf(t.resources)}`}
              {t.labels && ` on ${pairs(t.labels)}`}
              {t.command && (
                <code class="wrap">
                  {' '}
                  <bdi>{commandLine(t.command)}</bdi>
                </code>
              )}
            </Fact>
          ))}
          {!!p.per_worker && <Fact name="most ranks per worker">{p.per_worker}</Fact>}
          {!!p.priority && <Fact name="priority">{p.priority}</Fact>}
          <Fact name="weight">{count(p.weight ?? 1)}</Fact>
          <Fact name="grace">{span(p.grace_ms)}</Fact>
          <TextFact name="working directory" text={p.working_dir} kind="mono" />
          <TextFact name="ends with" text={p.ends_with?.join(', ')} />
          <TextFact name="environment (names only)" text={p.env?.join(', ')} kind="mono" />
          <Metadata of={p.metadata} />
          <TextFact name="submitted by" text={p.submitted_by} />
        </dl>
      </div>
    </Panel>
  );
}
