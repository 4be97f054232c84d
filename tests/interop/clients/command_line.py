"""How the driver and its client programs talk: words in, JSON events out."""
import argparse
import json


def words():
    parser = argparse.ArgumentParser()
    parser.add_argument('--index', type=int, required=True)
    parser.add_argument('--tasks', type=int, required=True)
    parser.add_argument('--heartbeat-timeout', type=int,
                        help="seconds; without it the library's own default")
    parser.add_argument('--initialization-timeout', type=int, default=60, help='seconds')
    parser.add_argument('--stay', action='store_true', help='wait to be killed')
    parser.add_argument('--rounds', type=int, default=0, help='how often the server is killed')
    parser.add_argument('--workers', help="HOST:PORT,HOST:PORT… of TensorFlow's own servers")
    return parser.parse_args()


def say(**event):
    print(json.dumps(event), flush=True)
