import { useEffect, useRef, useState } from 'preact/hooks';
import { link, retryNow } from '../shared/page';
import { session, signIn } from '../shared/session';

export function SignIn() {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Muster';
    field.current?.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? '';
    if (!token || busy) return;
    setBusy(true);
    signIn(token)
      .then(() => {
        if (link.peek() === 'lost') retryNow();
      })
      .catch((error: Error) => setSaid(error.message))
      .finally(() => setBusy(false));
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <form onSubmit={submit} aria-label="Sign in">
        <h1>
          <img src="/icon.svg" alt="" width="32" height="32" /> Muster
        </h1>
        <p class="note">This server requires a token. A viewer token is enough for the dashboard.</p>
        <label>
          Token
          <input ref={field} type="password" name="token" autocomplete="current-password" spellcheck={false} placeholder="muster.…" required />
        </label>
        <p class="said" role="alert">
          {said}
        </p>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
        <p class="note">
          An admin creates a token with <code>muster token create --role viewer</code>.
        </p>
      </form>
    </main>
  );
}

export function isClosed(): boolean {
  const who = session.value;
  return !!who?.required && (!who.signed_in || who.role === 'worker');
}
