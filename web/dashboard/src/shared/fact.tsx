import type { ComponentChildren } from 'preact';
import { Ago } from './when';

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

export const TextFact = ({ name, text, kind }: { name: string; text: string | undefined; kind?: string }) =>
  text ? (
    <Fact name={name}>
      <bdi class={kind}>{text}</bdi>
    </Fact>
  ) : null;

export const TimeFact = ({ name, ms }: { name: string; ms: number | undefined }) =>
  ms ? (
    <Fact name={name}>
      <Ago ms={ms} />
    </Fact>
  ) : null;

export const Metadata = ({ of = {} }: { of: Record<string, unknown> | undefined }) => (
  <>
    {Object.entries(of).map(([name, value]) => (
      <Fact key={name} name={name}>
        <bdi class="wrap">{typeof value === 'string' ? value : JSON.stringify(value)}</bdi>
      </Fact>
    ))}
  </>
);
