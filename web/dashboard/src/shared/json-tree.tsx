import { inline, isBranch, moreText, nodeOf, type Leaf as LeafNode, type Node } from './model/json-value';
import { closureOf } from './model/views';
import { Ansi } from './ansi';
import { api } from './rest';
import { closureAddress, follow } from './route';

const OPEN = 2; // levels that are initially open
const SMALL = 2000; // values up to this length, in characters, are not folded

export function JsonTree({ value, job, testid, label }: { value: unknown; job?: string; testid: string; label: string }) {
  return (
    <div class="tree mono" tabIndex={0} role="group" aria-label={label} data-testid={testid}>
      <Row name="" node={nodeOf(value)} depth={JSON.stringify(value).length <= SMALL ? -Infinity : 0} job={job} />
    </div>
  );
}

function Row({ name, node, depth, job }: { name: string; node: Node; depth: number; job: string | undefined }) {
  const head = name !== '' && (
    <span class="tree-name">
      <bdi>{name}</bdi>:{' '}
    </span>
  );
  if (node.kind === 'lines')
    return (
      <div>
        {head}
        <pre class="tree-lines">
          <Ansi text={node.text} />
        </pre>
      </div>
    );
  if (!isBranch(node))
    return (
      <div>
        {head}
        <Leaf node={node} job={job} />
      </div>
    );
  const line = inline(node);
  if (line !== null || node.children.length === 0)
    return (
      <div>
        {head}
        <bdi class="wrap">{line ?? (node.kind === 'list' ? '[]' : '{}')}</bdi>
      </div>
    );
  const children = (
    <ul>
      {node.children.map(([key, child]) => (
        <li key={key}>
          <Row name={key} node={nodeOf(child)} depth={depth + 1} job={job} />
        </li>
      ))}
      {node.more > 0 && <li class="soft">{moreText(node.more)}</li>}
    </ul>
  );
  if (name === '') return children;
  return (
    <details open={depth < OPEN}>
      <summary>
        {head}
        <span class="soft">{node.says}</span>
      </summary>
      {children}
    </details>
  );
}

function Leaf({ node, job }: { node: LeafNode; job: string | undefined }) {
  if (node.kind === 'blob')
    return (
      <a href={api(`blobs/${node.id}`)} download={node.id!.slice(0, 16)}>
        {node.text}
      </a>
    );
  if (node.kind === 'value')
    return (
      <a href={closureAddress(closureOf(node.id!), job)} onClick={follow}>
        {node.text}
      </a>
    );
  return <bdi class={`wrap tree-${node.kind}`}>{node.kind === 'text' ? JSON.stringify(node.text) : node.text}</bdi>;
}
