import { render } from 'preact';
import { startAnnouncing } from './announce';
import { Announcer, Banners, connectionState } from './connection';
import { Header } from './header';
import { Help } from './help';
import { Overview } from './overview';
import { start } from './page';
import { Rail } from './rail';
import { startTheme } from './theme';

function App() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the overview
      </a>
      <Rail />
      <main id="main" tabIndex={-1} data-conn={connectionState()}>
        <Header />
        <Banners />
        <Overview />
      </main>
      <Help />
      <Announcer />
    </>
  );
}

startTheme();
render(<App />, document.getElementById('app')!);
start();
startAnnouncing();
