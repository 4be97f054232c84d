import { serverUrl } from './base';
import { joinAddress } from './model/alert-list';
import { store } from './page';

// The lines that fill an empty page. HOST:PORT is replaced by the address for workers, and URL by the address of the server.
export function Teach({ lines }: { lines: string }) {
  return <pre class="teach">{lines.replace('HOST:PORT', joinAddress(store.clusters.all(), location.hostname)).replaceAll('URL', serverUrl())}</pre>;
}
