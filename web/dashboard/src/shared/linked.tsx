import { bare } from './model/ansi';
import { closureIn, pieces } from './model/links';
import { closureAddress, follow, jobAddress, workerAddress } from './route';

// Turns closures, jobs and workers in the server's sentence into links. `job` helps to find finished closures.
export function Linked({ text, tasks, job }: { text: string; tasks?: readonly string[]; job?: string }) {
  return (
    <bdi class="wrap">
      {pieces(bare(text), tasks).map((piece, n) => {
        if (piece.kind === 'text') return piece.text;
        const href = piece.kind === 'job' ? jobAddress(piece.text) : piece.kind === 'task' ? workerAddress(piece.text) : closureAddress(closureIn(piece), job);
        return (
          <a key={n} class="mono" href={href} onClick={follow}>
            {piece.text}
          </a>
        );
      })}
    </bdi>
  );
}
