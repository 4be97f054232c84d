import { runs } from './model/ansi';
import { unturned } from './model/bidi';

export function Ansi({ text }: { text: string }) {
  const all = runs(unturned(text));
  if (all.length === 1 && !all[0]!.style) return <>{all[0]!.text}</>;
  return (
    <>
      {all.map((run, n) =>
        run.style ? (
          <span key={n} class={run.style}>
            {run.text}
          </span>
        ) : (
          run.text
        ),
      )}
    </>
  );
}
