// All jobs, sessions and programs of a cluster in one list. The address contains the filters, the order and the page.

import { serverUrl } from '../shared/base';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Elsewhere } from '../shared/elsewhere';
import { Choices, filter, filters, Pages, Problem } from '../shared/listing';
import { useLooked } from '../shared/looked';
import { cluster, clusterQuery, slow, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { api, get } from '../shared/rest';
import { chosen } from '../shared/route';
import { ActionBar } from './action-bar';
import { FILTERS, kindChoices, menuChoices, NOTHING, ROWS, SINCE, stateChoices, timed, type FacetCount, type WorkPage as Body } from './model/work';
import { Views } from './views';
import { WorkTable } from './work-table';

export function WorkPage() {
  slow.value;
  const asked = filters(FILTERS);
  const page = chosen('page').value;
  const sort = { sort: chosen('sort').value, order: chosen('order').value };
  const matching = api('work', { cluster: clusterQuery.value, ...asked, ...sort });
  const path = `${matching}${matching.includes('?') ? '&' : '?'}limit=${ROWS}${page && `&page_token=${encodeURIComponent(page)}`}`;
  const looked = useLooked<Body>(path, { keep: true, read: (question) => get(timed(question, viewNow())) });
  const selection = useSignal(NOTHING);
  useEffect(() => {
    selection.value = NOTHING;
  }, [clusterQuery.value, ...Object.values(asked)]);
  const body = looked.value;
  const filtered = Object.values(asked).some(Boolean);
  const listing = body && { rows: body.runs, next: body.next_page_token ?? '', lookedAt: 0, of: filtered ? 0 : body.of, more: false };
  return (
    <div class="panels listed">
      <Panel id="work" title="Work" span={12}>
        <div class="filters work-filters">
          <Choices name="kind" label="Kind" options={kindChoices(body?.facets)} />
          <Choices name="state" label="State" options={stateChoices(body?.facets)} />
          <Choices name="since" label="Submitted" options={SINCE} />
          <Menu name="user" label="User" facet={body?.facets.users} trivial="-" />
          <Menu name="label" label="Label" facet={body?.facets.labels} />
          {filtered && (
            <button type="button" data-testid="clear-filters" onClick={() => filter(Object.fromEntries(FILTERS.map((name) => [name, ''])))}>
              Clear filters
            </button>
          )}
          <Views filtered={filtered} />
        </div>
        <Problem text={looked.problem} />
        {body && <ActionBar selection={selection} path={matching} matching={body.matching} shown={body.runs} again={looked.again} />}
        {body ? <WorkTable runs={body.runs} selection={selection} old={looked.stale} /> : <p class="calm">{looked.problem ? '–' : 'Loading…'}</p>}
        {body?.runs.length === 0 && <Empty filtered={filtered} kind={asked.kind ?? ''} />}
        <Pages looked={{ ...looked, value: listing || null }} what="runs" filtered={filtered} />
      </Panel>
    </div>
  );
}

// A menu is hidden if its only value tells nothing.
function Menu({ name, label, facet, trivial }: { name: string; label: string; facet: readonly FacetCount[] | undefined; trivial?: string }) {
  const now = chosen(name).value;
  const options = menuChoices(facet, now);
  if (!now && options.every(([value]) => value === trivial)) return null;
  return (
    <label class="field">
      <span>{label}</span>
      <select data-testid={`filter-${name}`} value={now} onChange={({ currentTarget }) => filter({ [name]: currentTarget.value })}>
        <option value="">all</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Empty({ filtered, kind }: { filtered: boolean; kind: string }) {
  const of = cluster();
  const at = of && !of.main ? `--cluster ${of.name} ` : '';
  if (filtered && chosen('page').value) return <p class="calm">No more runs.</p>;
  const others = FILTERS.some((name) => name !== 'kind' && chosen(name).value);
  if (others || (filtered && !kind)) return <p class="calm">No run matches.</p>;
  return (
    <div class="calm" data-testid="no-work">
      <p>
        {kind ? `No ${kind}s yet.` : 'No runs yet.'} To start one:
        <Elsewhere what="Jobs" />
      </p>
      <dl class="work-hints">
        <Hint kind={kind} is="job" line={`muster submit muster.echo hello ${at}--url ${serverUrl()}`} />
        <Hint kind={kind} is="session" line="muster.Client()" />
        <Hint kind={kind} is="program" line={`muster launch --tasks 2 ${at}--url ${serverUrl()} -- hostname`} />
      </dl>
    </div>
  );
}

const Hint = ({ kind, is, line }: { kind: string; is: string; line: string }) =>
  kind && kind !== is ? null : (
    <div>
      <dt>{is === 'session' ? 'session, in Python' : is}</dt>
      <dd>
        <code class="wrap">{line}</code>
      </dd>
    </div>
  );
