import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../shared/marks.tsx';
import { ThemeButton } from '../shared/theme.tsx';
import { Text } from '../shared/visible.tsx';
import { LiveKeysDialog, useLiveKeys } from './keys.tsx';
import { Notice } from './notice.tsx';
import { refusedAt } from './refusal-mark.ts';
import { type Place, usePlace, visit } from './router.ts';
import { includes, type Session, signOut, useSession, type Who, WhoProvider } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useTitle } from './title.ts';
import { MENU, viewAt } from './views.tsx';

/** The viewer: a menu, and the view that the address names. */
export function Viewer() {
  const place = usePlace();
  const [session, look] = useSession();
  const who = session.state === 'in' ? session.who : undefined;
  const menu = MENU.filter(({ role, route }) => who && includes(who.role, role) && who.routes.has(route));
  const { isOpen, close } = useLiveKeys(menu);
  useFocusOnChange(place.path);
  return (
    <div class="live">
      <a
        class="skip"
        href="#main"
        onClick={event => {
          event.preventDefault();
          document.querySelector('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="live-top">
        <a class="brand live-brand" href="/">
          <Icon path="M8 1.5 13.5 4v4c0 3.2-2.2 5.4-5.5 6.5C4.7 13.4 2.5 11.2 2.5 8V4zM5.6 8.2l1.7 1.7 3.2-3.6" />
          Proctor
        </a>
        <nav class="live-menu" aria-label="Views">
          {menu.map(({ label, href }) => (
            <a key={href} href={href} aria-current={isAt(place, href, menu[0]?.href) ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        {who && <Account who={who} onOut={look} />}
        <ThemeButton />
      </header>
      <main id="main" class="live-main" tabIndex={-1}>
        <Content session={session} place={place} onSession={look} />
      </main>
      {isOpen && <LiveKeysDialog views={menu} onClose={close} />}
    </div>
  );
}

const isAt = ({ path }: Place, href: string, start: string | undefined): boolean =>
  path === href ||
  path.startsWith(`${href}/`) ||
  (path === '/' && href === start) ||
  (path.startsWith('/script-runs/') && href === '/scripts');

interface ContentProps {
  readonly session: Session;
  readonly place: Place;
  readonly onSession: () => void;
}

function Content({ session, place, onSession }: ContentProps) {
  if (session.state === 'asking') return <p class="live-wait">Loading…</p>;
  const refused = refusedAt(place.path);
  if (session.state === 'out') {
    const why = refused && refused.code !== 'not_signed_in' ? refused.message : session.why;
    const onDone = (): void => {
      if (refused) visit('/', 'replace');
      onSession();
    };
    return <SignIn why={why} onDone={onDone} />;
  }
  if (session.state === 'unreachable') {
    return <Notice title="The server does not answer" text={session.why} action={['Try again', onSession]} />;
  }
  if (refused) return <Blocked {...refused} />;
  // Users of published scripts may not see the list of all runs.
  const isUser = !includes(session.who.role, 'viewer');
  const found = viewAt(place.path === '/' && isUser ? '/scripts' : place.path);
  if (!found || !includes(session.who.role, found.view.role)) return <Lost isKnown={found !== undefined} />;
  const { view, parts } = found;
  const Show = view.show;
  return (
    <WhoProvider value={session.who}>
      <Show key={parts.join('/')} place={place} parts={parts} />
    </WhoProvider>
  );
}

function Blocked({ code, message }: { readonly code: string; readonly message: string }) {
  const title = code.startsWith('no') ? 'Not found' : 'Not available';
  useTitle(title);
  return <Notice title={title} text={message} action={['Show the start page', () => visit('/')]} />;
}

function Lost({ isKnown }: { readonly isKnown: boolean }) {
  useTitle(isKnown ? 'Not allowed' : 'Not found');
  return isKnown ? (
    <Notice title="Not allowed" text="Your role does not open this view. Ask an administrator for another role." />
  ) : (
    <Notice title="Not found" text="There is no view at this address. Use the menu above." />
  );
}

function Account({ who: { name, role }, onOut }: { readonly who: Who; readonly onOut: () => void }) {
  return (
    <span class="live-account">
      <span class="live-who">
        <Text value={name} /> <span class="tag">{role}</span>
      </span>
      <button type="button" class="quiet" onClick={() => void signOut().then(onOut, onOut)}>
        Sign out
      </button>
    </span>
  );
}

/** A screen reader starts at the new view, as it would on a new page. */
function useFocusOnChange(path: string): void {
  const last = useRef(path);
  useEffect(() => {
    if (last.current !== path) document.querySelector('main')?.focus({ preventScroll: true });
    last.current = path;
  }, [path]);
}
