// What was submitted as a program, and its attempts.

import { useSignal } from '@preact/signals';
import { count, moment, plural, span } from '../model/format';
import { seenText, type AttemptDetail } from '../model/rest/attempt';
import { commandLine } from '../model/rest/commands';
import { resourcesOf, type AttemptView, type ProgramView } from '../model/rest/programs';
import { Fact } from '../parts/fact';
import { Panel } from '../parts/panel';
import { Ago, Span } from '../parts/when';
import { useLooked } from '../looked';
import { api } from '../rest';
import { lookedAt } from '../run/range';

const ENDS: Record<AttemptView['end'], string> = {
  NONE: 'goes on',
  SUCCEEDED: 'succeeded',
  FAILED: 'a rank failed',
  LOST: 'a worker was lost',
  CANCELLED: 'was stopped',
  PREEMPTED: 'a worker left, after a step',
  HUNG: 'came to a stand',
};

export function Attempts({ program, all }: { program: string; all: readonly AttemptView[] }) {
  const looked = useSignal(0); // an attempt; 0: none
  const range = lookedAt(); // of the timeline above
  const shown = range ? all.filter((a) => a.begun_ms <= range.to && (a.ended_ms ?? Infinity) >= range.from) : all;
  return (
    <Panel id="attempts" title="Attempts" note="the newest first" span={8}>
      {all.length === 0 ? (
        <p class="calm">None yet.</p>
      ) : (
        <div class="scrolls" tabIndex={0} role="region" aria-label="Table of attempts">
          <table class="table" data-testid="attempts">
            <thead>
              <tr>
                <th>Attempt</th>
                <th>How</th>
                <th>Size</th>
                <th>Where</th>
                <th>Began</th>
                <th>Took</th>
                <th>Cause</th>
                <th>Seen</th>
              </tr>
            </thead>
            <tbody>
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
                      aria-label={`What was seen of attempt ${a.attempt}`}
                      data-testid="look-at-attempt"
                      onClick={() => (looked.value = looked.value === a.attempt ? 0 : a.attempt)}
                    >
                      {looked.value === a.attempt ? 'Hide' : 'Show'}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown.length < all.length && <p class="foot">{plural(all.length - shown.length, 'attempt lies', 'attempts lie')} outside the range that the timeline shows.</p>}
      {looked.value > 0 && <Seen program={program} attempt={looked.value} />}
    </Panel>
  );
}

// Failures, stacks of ranks that were killed, late barriers, last lines.
function Seen({ program, attempt }: { program: string; attempt: number }) {
  const seen = useLooked<AttemptDetail>(api(`programs/${encodeURIComponent(program)}/attempts/${attempt}`), { over: (a) => a.end !== 'NONE' });
  if (!seen.value) return <p class="calm">{seen.problem || 'Loading…'}</p>;
  const text = seenText(seen.value);
  return text ? (
    <pre class="log stack mono" tabIndex={0} role="region" aria-label={`What was seen of attempt ${attempt}`} data-testid="seen-of-attempt">
      <bdi>{text}</bdi>
    </pre>
  ) : (
    <p class="calm">Nothing was seen of attempt {attempt} yet.</p>
  );
}

export function Spec({ p }: { p: ProgramView }) {
  return (
    <Panel id="spec" title="What was submitted" span={4}>
      <div data-testid="spec">
        <pre class="log mono stderr" tabIndex={0} role="region" aria-label="Command">
          <bdi>{commandLine(p.command)}</bdi>
        </pre>
        <dl class="facts-line">
          {Object.entries(p.tasks).map(([type, t]) => (
            <Fact key={type} name={type}>
              {t.min === t.max ? count(t.min) : `${count(t.min)} to ${count(t.max)}`}
              {t.resources && ` × ${resourcesOf(t.resources)}`}
              {t.labels &&
                ` on ${Object.entries(t.labels)
                  .map(([name, value]) => `${name}=${value}`)
                  .join(', ')}`}
              {t.command && (
                <code class="wrap">
                  {' '}
                  <bdi>{commandLine(t.command)}</bdi>
                </code>
              )}
            </Fact>
          ))}
          {!!p.per_worker && <Fact name="per worker at most">{p.per_worker}</Fact>}
          {!!p.priority && <Fact name="priority">{p.priority}</Fact>}
          <Fact name="weight">{count(p.weight ?? 1)}</Fact>
          <Fact name="grace">{span(p.grace_ms)}</Fact>
          {p.working_dir && (
            <Fact name="working directory">
              <bdi class="mono">{p.working_dir}</bdi>
            </Fact>
          )}
          {p.ends_with && (
            <Fact name="ends with">
              <bdi>{p.ends_with.join(', ')}</bdi>
            </Fact>
          )}
          {p.env && (
            <Fact name="environment, names alone">
              <bdi class="mono">{p.env.join(', ')}</bdi>
            </Fact>
          )}
          {Object.entries(p.metadata ?? {}).map(([name, value]) => (
            <Fact key={name} name={name}>
              <bdi class="wrap">{typeof value === 'string' ? value : JSON.stringify(value)}</bdi>
            </Fact>
          ))}
          {p.submitted_by && (
            <Fact name="submitted by">
              <bdi>{p.submitted_by}</bdi>
            </Fact>
          )}
        </dl>
      </div>
    </Panel>
  );
}
