"""Clients of the coordination service over gRPC."""
from __future__ import annotations

import time

import muster
from clients.base import Client, stopping
from muster.agent.errors import AgentError, BarrierError, CoordinationError
from recorder import now


class Agent(Client):
    """One task of a coordination cluster: increments, inserts and barriers over gRPC. A new run of the cluster begins
    without keys, so the names of keys contain the incarnation of the run's service."""

    def run(self) -> None:
        task = f"worker:{self.config['agents'].index(self.name)}"
        while not stopping.requested:
            try:
                agent = muster.Agent(cluster="agents", url=self.random.choice(self.config["http"]), task=task,
                                     heartbeat_timeout=20.0)
            except muster.MusterError:  # this server is a standby or is not there
                time.sleep(0.1)
                continue
            try:
                agent.connect(timeout=30)
                while not stopping.requested:
                    self.count(agent)
                    self.insert(agent)
                    if self.numbers % 10 == 0:
                        self.meet(agent)
            except (AgentError, CoordinationError) as error:
                self.history.write(kind="agent_error", error=f"{type(error).__name__}: {error}", at=now())
                time.sleep(0.3)
            finally:
                agent.close()

    def count(self, agent: muster.Agent) -> None:
        key = f"counts/{agent.service_incarnation}-{self.random.randrange(4)}-{now() // 5_000_000_000}"
        self.operation(self.name, "increment", key, lambda: str(agent.increment(key)))
        self.operation(self.name, "get", key, lambda: (agent.try_get(key) or b"").decode())

    def insert(self, agent: muster.Agent) -> None:
        value = self.next_id()
        key = f"once/{agent.service_incarnation}-{self.numbers % 97}-{now() // 5_000_000_000}"
        self.operation(self.name, "insert", key, lambda: "inserted" if agent.set_if_absent(key, value) else "exists", arg=value)

    def meet(self, agent: muster.Agent) -> None:
        record = {"kind": "barrier", "agent": self.name, "service": agent.service_incarnation, "call": now()}
        self.history.write(**record, outcome="unknown")
        try:
            use = agent.barrier("meet", timeout=20.0)
        except BarrierError as error:
            self.history.write(**record, outcome="failed", use=error.use, error=str(error), ret=now())
        except (AgentError, CoordinationError) as error:
            self.history.write(**record, outcome="unknown", error=str(error), ret=now())
            raise
        else:
            self.history.write(**record, outcome="ok", use=use, ret=now())
