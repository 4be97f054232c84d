import type { ComponentChildren } from 'preact';

// One of a line of facts, within <dl class="facts-line">.
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>
        <bdi>{name}</bdi>
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
