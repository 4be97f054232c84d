// Shows each closure of a job with up to 2,000 closures. For larger jobs, shows a box for each function.

import { useMemo } from 'preact/hooks';
import { useHeading } from '../shell/heading';
import { useLooked } from '../shared/looked';
import { graphLayout } from './model/graph-layout';
import type { Counts } from '../shared/model/counters-protocol';
import type { GraphBody } from './model/graph-protocol';
import { count, outOf, plural, some } from '../shared/model/format';
import { ENDED, endedOf } from '../shared/model/counts';
import { slow, store } from '../shared/page';
import { GraphCanvas } from './graph-canvas';
import type { Node } from './graph-paint';
import { Grid, type Column } from '../shared/grid';
import { Panel } from '../shared/panel';
import { api } from '../shared/rest';
import { address, choose, chosen, closureAddress, follow, go, jobAddress, subject } from '../shared/route';

const STATES = ['FAILED', 'RUNNING', 'QUEUED', 'BLOCKED', 'CANCELLED', 'SUCCEEDED'] as const;

interface Row {
  at: number;
  node: Node;
  needs: number[];
  neededBy: number;
}

export function GraphPage() {
  slow.value;
  const job = subject.value;
  const looked = useLooked<GraphBody>(job ? api(`jobs/${encodeURIComponent(job)}/graph`) : '', { every: 2000, over: isComplete });
  const name = store.jobs().find((j) => j.id === job)?.name || job;
  useHeading(name);
  const body = looked.value;
  return (
    <div class="panels">
      <p class="calm span-12 wrap">
        <a href={jobAddress(job)} onClick={follow}>
          ← job <bdi>{name}</bdi>
        </a>
      </p>
      {body ? (
        <Shown body={body} job={job} />
      ) : (
        <Panel id="graph" title="Graph" span={12}>
          <p class={`calm ${looked.problem ? 'text-error' : ''}`} data-testid="graph-problem">
            <bdi>{looked.problem || 'Loading…'}</bdi>
          </p>
        </Panel>
      )}
    </div>
  );
}

function isComplete(body: GraphBody): boolean {
  if (body.complete === false) return false;
  if (body.grouped) return body.groups.every(({ counts: c }) => endedOf(c) === c.total);
  return body.nodes.state.every((state) => ENDED.includes(body.states[state]!));
}

function groupState(c: Counts): string {
  return c.failed > 0 ? 'FAILED' : c.running > 0 ? 'RUNNING' : c.queued > 0 ? 'QUEUED' : c.blocked > 0 ? 'BLOCKED' : c.succeeded < c.total ? 'CANCELLED' : 'SUCCEEDED';
}

function nodesOf(body: GraphBody): Node[] {
  if (body.grouped)
    return body.groups.map(({ function: title, counts: c }) => ({ title, more: `${outOf(c.succeeded, c.total)}${c.failed > 0 ? `, ${count(c.failed)} failed` : ''}`, state: groupState(c) }));
  return body.nodes.index.map((index, n) => ({ title: body.functions[body.nodes.function[n]!] ?? '', more: `#${index}`, state: body.states[body.nodes.state[n]!] ?? '' }));
}

function Shown({ body, job }: { body: GraphBody; job: string }) {
  const size = body.grouped ? body.groups.length : body.nodes.index.length;
  const edges = body.edges as readonly (readonly number[])[];
  const graph = useMemo(() => graphLayout(size, edges), [job, size, edges.length]); // a job's dependencies never change
  const nodes = useMemo(() => nodesOf(body), [body]);
  const picked = chosen('node').value;
  const at = picked === '' || !(Number(picked) < size) ? -1 : Number(picked);
  const pick = (node: number) => choose({ node: node < 0 ? '' : String(node) }, 'replace');
  const open = (node: number) => go(body.grouped ? jobAddress(job, { function: body.groups[node]!.function }) : closureAddress(body.nodes.closure[node]!, job));
  const rows = useMemo<Row[]>(() => graph.order.flat().map((node) => ({ at: node, node: nodes[node]!, needs: graph.before[node]!, neededBy: graph.after[node]!.length })), [graph, nodes]);
  const counts = STATES.map((state) => [state, nodes.filter((node) => node.state === state).length] as const).filter(([, n]) => n > 0);
  const what = body.grouped ? plural(size, 'function') : plural(size, 'closure');
  const facts = counts.map(([state, n]) => `${count(n)} ${state.toLowerCase()}`).join(', ');
  const sentence = `Dependencies of ${what} in ${plural(graph.order.length, 'layer')}, ${plural(edges.length, 'edge')}: ${facts}. Arrow keys follow dependencies, Enter opens. The table below contains the same information.`;
  const columns = columnsOf(nodes, body, job);
  return (
    <>
      <Panel id="graph" title="Dependencies" note={`${what}, ${plural(edges.length, 'edge')}${body.grouped ? ', grouped by function because there are too many closures' : ''}`} span={12}>
        <GraphCanvas graph={graph} nodes={nodes} edges={edges} chosen={at} choose={pick} open={open} sentence={sentence} />
        <ul class="legend" data-testid="graph-legend">
          {counts.map(([state, n]) => (
            <li key={state}>
              <i class={`swatch graph-${state.toLowerCase()}`} /> {state.toLowerCase()} <b>{count(n)}</b>
            </li>
          ))}
        </ul>
        {body.complete === false && (
          <p class="foot" data-testid="graph-partial">
            The graph is incomplete: the server read {outOf(body.looked_at, body.of)} closures within the time limit for a response.
          </p>
        )}
      </Panel>
      <Panel id="graph-rows" title={body.grouped ? 'Functions' : 'Closures'} note="ordered by layer" span={12}>
        <Grid
          id="graph-rows"
          columns={columns}
          rows={rows}
          name={(r) => String(r.at)}
          kind={(r) => (r.node.state === 'FAILED' ? 'row-error' : '')}
          data={(r) => ({ 'data-node': String(r.at), 'data-state': r.node.state })}
          chosen={at < 0 ? null : String(at)}
          choose={(name) => pick(name === null ? -1 : Number(name))}
          empty="The job has no closures."
        />
      </Panel>
    </>
  );
}

function columnsOf(nodes: readonly Node[], body: GraphBody, job: string): readonly Column<Row>[] {
  const link = (n: number) => (body.grouped ? address(`/runs/${encodeURIComponent(job)}`, { function: nodes[n]!.title }) : closureAddress(body.nodes.closure[n]!, job));
  const short = (n: number) => (body.grouped ? nodes[n]!.title : `${nodes[n]!.title} ${nodes[n]!.more}`);
  return [
    {
      title: body.grouped ? 'Function' : 'Closure',
      width: 'minmax(150px, 320px)',
      cell: (r) => (
        <a class="mono" href={link(r.at)} onClick={follow}>
          <bdi>
            {r.node.title} {r.node.more}
          </bdi>
        </a>
      ),
    },
    {
      title: 'State',
      width: '110px',
      cell: (r) => (
        <span class="chip">
          <i class={`swatch graph-${r.node.state.toLowerCase()}`} /> {r.node.state.toLowerCase()}
        </span>
      ),
    },
    {
      title: 'Needs',
      width: 'minmax(150px, 3fr)',
      narrow: 'long',
      cell: (r) => <bdi class="soft">{r.needs.length > 0 ? `needs ${some(r.needs.slice(0, 4).map(short), 4, r.needs.length)}` : 'needs nothing'}</bdi>,
    },
    { title: 'Needed by', width: '84px', right: true, narrow: 'hide', cell: (r) => (r.neededBy > 0 ? count(r.neededBy) : <span class="soft">–</span>) },
  ];
}
