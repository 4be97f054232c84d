import { JsonTree } from '../shared/json-tree';
import { count } from '../shared/model/format';
import { hasEnded } from '../shared/model/closures';
import { closureOf, type ClosureView } from '../shared/model/views';
import { Copy } from '../shared/copy';
import { Link } from '../shared/link';
import { Panel } from '../shared/panel';
import { closureAddress } from '../shared/route';

export const given = (c: ClosureView): boolean => c.args !== undefined || !!(c.inputs?.length || c.dependents?.length || c.per_worker?.length) || !hasEnded(c);

export function Given({ c }: { c: ClosureView }) {
  if (!given(c)) return null;
  const args = c.args === undefined ? '' : JSON.stringify(c.args, null, 2);
  return (
    <Panel id="given" title="Arguments and inputs" span={4} aside={args && <Copy text={args} what="the arguments" />}>
      {c.args_text && (
        <p class="mono given-text" data-testid="args-text">
          <bdi>{c.args_text}</bdi>
        </p>
      )}
      {c.args_text ? (
        <details>
          <summary>As sent</summary>
          <JsonTree value={c.args} job={c.job} testid="args" label="Arguments" />
        </details>
      ) : args ? (
        <JsonTree value={c.args} job={c.job} testid="args" label="Arguments" />
      ) : (
        <p class="calm">{c.history || hasEnded(c) ? 'Its arguments are no longer stored.' : 'It has no arguments.'}</p>
      )}
      <Others title={c.inputs_missing ? `Inputs, ${count(c.inputs_missing)} still missing` : 'Inputs'} ids={c.inputs ?? []} job={c.job} testid="inputs" />
      <Others title="Needed by" ids={c.dependents ?? []} more={c.dependents_more} job={c.job} testid="dependents" />
      {!!c.per_worker?.length && (
        <>
          <h3>Per-worker values</h3>
          <ul class="names">
            {c.per_worker.map((id) => (
              <li key={id}>
                <code>{id}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function Others({ title, ids, more = 0, job, testid }: { title: string; ids: readonly string[]; more?: number; job: string; testid: string }) {
  if (ids.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="names" data-testid={testid}>
        {ids.map((id) => (
          <li key={id}>
            <Link to={closureAddress(closureOf(id), job)}>{id}</Link>
          </li>
        ))}
        {more > 0 && <li class="rest soft">and {count(more)} more</li>}
      </ul>
    </>
  );
}
