import { bytes, count } from './model/format';
import { blobIn, previewText, treeOf, typeText, whereItLies, type Preview } from './model/preview';
import type { ClosureView } from './model/views';
import { useLooked } from './looked';
import { JsonTree } from './json-tree';
import { api } from './rest';
import { Copy } from './copy';
import { Panel } from './panel';

const PREVIEW = 65_536; // limit in bytes

export function ValuePanel({ c, wide }: { c: ClosureView; wide: boolean }) {
  const id = c.remote_value ?? c.id.replace(/^cl_/, 'rv_');
  const there = c.value_status === 'READY' && c.state === 'SUCCEEDED' && !c.value_released;
  const looked = useLooked<Preview>(there ? api(`remote_values/${encodeURIComponent(id)}/preview`, { bytes: PREVIEW }) : '', { over: () => true });
  const shown = looked.value ? previewText(looked.value) : null;
  const tree = looked.value ? treeOf(looked.value) : undefined;
  const blob = looked.value ? blobIn(looked.value) : '';
  const type = looked.value ? typeText(looked.value) : '';
  const size = looked.value?.bytes ?? c.value_bytes;
  const aside = there && (
    <div class="actions">
      {shown?.text && !shown.truncated && <Copy text={shown.text} what="the value" />}
      <a class="button" href={api(blob ? `blobs/${blob}` : `remote_values/${encodeURIComponent(id)}/value`)} download={id} data-testid="download">
        Download
      </a>
    </div>
  );
  return (
    <Panel id="value" title="Value" note={size !== undefined && there && bytes(size)} span={wide ? 12 : 8} aside={aside}>
      {type && (
        <p class="value-type" data-testid="value-type">
          {type}
        </p>
      )}
      <p class="foot">
        <code>{id}</code> {c.error ? 'contains the error' : c.value_status?.toLowerCase().replaceAll('_', ' ')}
        {c.value_spilled ? ', on disk' : ''}
        {c.value_released ? `, released: ${c.value_released}` : ''}
      </p>
      {looked.problem && <p class="calm soft">{looked.problem}</p>}
      {blob && looked.value && (
        <p class="calm" data-testid="where">
          The value is stored separately, {whereItLies(looked.value)}. Only its name is shown here; use Download to get its bytes.
        </p>
      )}
      {shown?.note && <p class="calm">{shown.note}</p>}
      {tree !== undefined && <JsonTree value={tree} job={c.job} testid="value" label="Value" />}
      {shown?.text && tree === undefined && (
        <pre class="value" tabIndex={0} role="region" data-testid="value" aria-label="Value">
          {shown.text}
        </pre>
      )}
      {shown?.truncated && <p class="foot">The first {count(shown.shown)} bytes are shown; use Download to get the whole value.</p>}
      {!there && !c.value_released && <p class="calm">{c.value_status === 'ABORTED' || c.error ? 'The closure ended without a value.' : 'No value yet.'}</p>}
    </Panel>
  );
}
