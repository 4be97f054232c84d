// Saved views: the address under a name, in this browser. To share a view, send its address.

import { serverUrl } from '../shared/base';
import { useSignal } from '@preact/signals';
import { Copy } from '../shared/copy';
import { SavedHere } from '../shared/listing';
import { addressNow } from '../shared/route';
import { forgetFilter, isSaved, saveFilter } from '../shared/saved';

const NAME_MAX = 60;

// Returns the address without the position in the list.
function viewAddress(): string {
  const [pathname, search] = addressNow.value.split('?');
  const query = new URLSearchParams(search);
  for (const name of ['page', 'at']) query.delete(name);
  return `${pathname}?${query}`;
}

function usualName(href: string): string {
  const query = new URLSearchParams(href.split('?')[1]);
  const parts = [...query].map(([key, value]) => (key === 'q' ? `“${value}”` : key === 'since' ? `last ${value}` : value.toLowerCase()));
  return parts.join(', ').slice(0, NAME_MAX);
}

export function Views({ filtered }: { filtered: boolean }) {
  const naming = useSignal(false);
  const href = viewAddress();
  const kept = isSaved(href);
  return (
    <>
      {filtered &&
        (naming.value ? (
          <form
            class="work-naming"
            onSubmit={(event) => {
              event.preventDefault();
              const name = (new FormData(event.currentTarget).get('name') as string).trim();
              saveFilter(href, `Work: ${name || usualName(href)}`);
              naming.value = false;
            }}
          >
            <label class="field">
              <span>Name</span>
              <input
                name="name"
                defaultValue={usualName(href)}
                maxLength={NAME_MAX}
                data-testid="view-name"
                ref={(input) => input?.select()}
                onKeyDown={(event) => event.key === 'Escape' && (naming.value = false)}
              />
            </label>
            <button type="submit" class="primary" data-testid="save-view">
              Save
            </button>
          </form>
        ) : (
          <button type="button" data-testid="save-filter" aria-pressed={kept} onClick={() => (kept ? forgetFilter(href) : (naming.value = true))}>
            {kept ? 'Remove view' : 'Save view'}
          </button>
        ))}
      <Copy text={() => serverUrl() + viewAddress().replace(/\?$/, '')} label="Copy link" what="to this view" />
      <SavedHere />
    </>
  );
}
