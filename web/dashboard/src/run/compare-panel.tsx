// Lays an earlier run beside a run, and the menu that offers earlier runs.

import { useSignal } from '@preact/signals';
import { age, count, duration, plural, shortId } from '../shared/model/format';
import { lookOf, PROGRAM_LOOKS } from '../shared/model/programs';
import { follow, jobAddress, choose } from '../shared/route';
import { clusterQuery, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { Table } from '../shared/table';
import { Ago } from '../shared/when';
import { EARLIER_SHOWN, earlierRuns, useCompared, type Earlier } from './compare-data';
import { selectCall } from './inspect';
import { isSlower, ratioText, type Comparison, type FunctionRow, type Row } from './model/compare';

export function CompareMenu({ run }: { run: Earlier }) {
  const found = useSignal<Earlier[] | null>(null);
  const problem = useSignal('');
  const look = async () => {
    try {
      found.value = await earlierRuns(run, clusterQuery.peek());
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  if (!run.name) return null; // because earlier runs are found by their name
  return (
    <details
      class="menu"
      onToggle={({ currentTarget }) => currentTarget.open && void look()}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector('summary')?.focus();
        event.stopPropagation();
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
    >
      <summary data-testid="compare-with">Compare with…</summary>
      <ul class="commands compare-menu">
        {problem.value && <li class="text-error">{problem.value}</li>}
        {!found.value && !problem.value && <li class="soft">Loading…</li>}
        {found.value?.length === 0 && (
          <li class="soft">
            No earlier run is named <bdi>{run.name}</bdi>.
          </li>
        )}
        {found.value?.map((other) => (
          <li key={other.id}>
            <a
              href={jobAddress(run.id, { compare: other.id })}
              data-testid="compare-choice"
              data-run={other.id}
              onClick={(event) => {
                follow(event);
                (event.currentTarget as Element).closest('details')!.open = false;
              }}
            >
              {lookOf(PROGRAM_LOOKS, other.state)[2]}, <Ago ms={other.created_ms} />
            </a>
            <span class="soft">
              {shortId(other.id)}, took {age((other.finished_ms || viewNow()) - other.created_ms)}
            </span>
          </li>
        ))}
        {found.value?.length === EARLIER_SHOWN && <li class="soft">The newest {EARLIER_SHOWN} are shown.</li>}
      </ul>
    </details>
  );
}

export function ComparePanel({ id, other }: { id: string; other: string }) {
  const looked = useCompared(id, other);
  const it = looked.value;
  const close = (
    <button type="button" data-testid="compare-close" onClick={() => choose({ compare: '' })}>
      Close
    </button>
  );
  const note = it && (
    <>
      before:{' '}
      <a href={jobAddress(other)} onClick={follow}>
        <bdi>{it.before.name || other}</bdi>
      </a>{' '}
      <Ago ms={it.before.created} />
    </>
  );
  return (
    <Panel id="compare" title="Compared with an earlier run" note={note} span={12} aside={close}>
      <div data-testid="compare" data-other={other}>
        {looked.problem && <p class="calm text-error">{looked.problem}</p>}
        {!it && !looked.problem && <p class="calm">Loading…</p>}
        {it && <Differences of={it.comparison} />}
      </div>
    </Panel>
  );
}

function Differences({ of }: { of: Comparison }) {
  const { divergence, facts, functions, submission } = of;
  return (
    <>
      <p class="why wrap" data-testid="compare-first">
        {divergence ? (
          <>
            First difference: <bdi>{divergence.text}</bdi>{' '}
            {divergence.call && (
              <button type="button" class="plain" data-testid="compare-call" onClick={() => selectCall(divergence.call!)}>
                Show the call
              </button>
            )}
          </>
        ) : (
          `No call or step differs in state, arguments or duration (compared: ${of.compared}).`
        )}
      </p>
      <div class="compare-tables">
        <Sides title="Result" rows={facts} testid="compare-facts" />
        {submission.length > 0 ? (
          <Sides title="Submission" rows={submission} testid="compare-submission" />
        ) : (
          <p class="calm" data-testid="compare-submission">
            The submissions are equal ({plural(of.same, 'compared entry', 'compared entries')}).
          </p>
        )}
      </div>
      {functions.length > 0 && <ByFunction rows={functions} leftOut={of.functionsLeftOut} />}
    </>
  );
}

function Sides({ title, rows, testid }: { title: string; rows: readonly Row[]; testid: string }) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
      <Table heads={[title, 'Before', 'Now']} testid={testid}>
        {rows.map((r) => (
          <tr key={r.name} data-changed={r.changed}>
            <td>
              <bdi>{r.name}</bdi>
            </td>
            <td class="wrap soft">
              <bdi>{r.before}</bdi>
            </td>
            <td class="wrap">{r.changed ? <b>{<bdi>{r.after}</bdi>}</b> : <bdi>{r.after}</bdi>}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

const HEADS = ['Function', 'Calls before', 'Calls now', 'Median before', 'Median now', '90% before', '90% now', 'Ratio'] as const;

function ByFunction({ rows, leftOut }: { rows: readonly FunctionRow[]; leftOut: number }) {
  const pair = (r: FunctionRow, of: (f: NonNullable<FunctionRow['after']>) => string) => [r.before ? of(r.before) : '–', r.after ? of(r.after) : '–'];
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Durations by function">
      <Table heads={HEADS} right={1} testid="compare-functions">
        {rows.map((r) => {
          const cells = [...pair(r, (f) => count(f.n)), ...pair(r, (f) => duration(f.p50)), ...pair(r, (f) => duration(f.p90)), ratioText(r.ratio)];
          return (
            <tr key={r.name} data-function={r.name}>
              <td class="mono wrap">
                <bdi>{r.name}</bdi>
              </td>
              {cells.map((cell, n) => (
                <td key={n} class="right" data-of={HEADS[n + 1]}>
                  {n === cells.length - 1 && isSlower(r) ? <b class="text-late">{cell}</b> : cell}
                </td>
              ))}
            </tr>
          );
        })}
      </Table>
      {leftOut > 0 && <p class="foot">and {count(leftOut)} more functions, whose medians changed less</p>}
    </div>
  );
}
