import type { ComponentChildren } from 'preact';

// One of a line of facts, within <dl class="facts-line">.
export function Fact({ name, title, children }: { name: string; title?: string; children: ComponentChildren }) {
  return (
    <div title={title}>
      <dt>
        <bdi>{name}</bdi>
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
