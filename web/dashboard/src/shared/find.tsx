import { query, setQuery, shortcuts } from './page';

// The search field of a page. "/" moves the focus into it.
export function Find({ words }: { words: string }) {
  return (
    <label class="find">
      <span class="unseen">{words}</span>
      <input
        type="search"
        placeholder={words}
        value={query.value}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          setQuery('');
          event.currentTarget.blur();
        }}
      />
      {shortcuts.value && <kbd aria-hidden="true">/</kbd>}
    </label>
  );
}
